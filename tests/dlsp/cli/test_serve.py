"""Ways to serve that cannot be."""

import pytest

from dlsp import cli
from tests.dlsp.stub_engine import StubEngine

Output = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--port", "2097"], "A port is for --tcp alone"), (["--stdio", "--tcp"], "exclude each other")],
)
def test_ways_to_serve_that_exclude_each_other(options: list[str], said: str, capsys: Output) -> None:
    assert cli.main(["serve", *options]) == 1
    assert said in capsys.readouterr().err


def test_serve_on_a_port_that_is_taken(stub: StubEngine, capsys: Output) -> None:
    assert cli.main(["serve", "--tcp", "--port", str(stub.http.server_port)]) == 1
    assert "cannot be used" in capsys.readouterr().err
    assert cli.main(["serve", "--tcp", "--port", "70000"]) == 1
