"""How the server is not started."""

import pytest

from dlsp import cli


@pytest.mark.parametrize("options", [["--tcp"], ["--tcp", "--port", "0"], ["--port", "0"]])
def test_no_port_is_opened(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever could connect to one could have any folder of the user's read to him."""
    assert cli.main(["serve", *options]) == 2
    assert "unrecognized arguments" in capsys.readouterr().err
