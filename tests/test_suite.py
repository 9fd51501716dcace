"""What `make test` makes of failures, by real runs of pytest on a folder of a few tests."""

from pathlib import Path

import pytest

from tests import suite

PASSES = "def test_passes(): pass\n"
# Passes when it runs a second time.
UNSTEADY = """
from pathlib import Path

def test_unsteady():
    seen = Path(__file__).with_suffix(".seen")
    before = seen.exists()
    seen.touch()
    assert before
"""
FAILS = "import pytest\n@pytest.mark.model\ndef test_fails(): assert False\n"
# Each process finds its cases in another order, so that none runs.
DIFFERS = """
import os
import pytest

@pytest.mark.parametrize("case", sorted("ab", reverse=os.environ.get("PYTEST_XDIST_WORKER") == "gw0"))
def test_differs(case): pass
"""
LONG = "from pytest import mark\n@mark.prove\ndef test_long(): assert False\n"


@pytest.mark.parametrize(
    ("files", "status", "unsteady"),
    [
        ([LONG, UNSTEADY], 0, True),
        ([UNSTEADY, FAILS], 1, False),
        ([PASSES, FAILS.replace("assert False", "raise KeyboardInterrupt")], 1, False),
        ([PASSES, DIFFERS], 1, False),
    ],
    ids=["one is unsteady", "one is broken", "one is interrupted", "none runs"],
)
def test_what_failed_runs_once_more(
    files: list[str], status: int, unsteady: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd
):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    model\n    prove\n")
    for number, text in enumerate([*files, PASSES.replace("def", "import pytest\n@pytest.mark.model\ndef")]):
        (tmp_path / f"test_{number}.py").write_text(text)
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it takes seconds to load them all
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    assert suite.main() == status
    assert ("UNSTEADY test_1.py::test_unsteady" in capfd.readouterr().out) == unsteady
