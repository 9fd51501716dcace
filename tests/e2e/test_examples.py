"""`examples/`: the project works, its places are where they are said to be, and `run.py` shows them."""

import subprocess
import sys
from pathlib import Path

import pytest

from examples.places import PLACES, Place
from tests.dlsp.stub_engine import StubEngine

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*command: str) -> str:
    """What a Python command run in `examples` printed; the test fails if it did."""
    done = subprocess.run([sys.executable, *command], cwd=EXAMPLES, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_project_passes_its_tests() -> None:
    assert "passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_places_are_there_once(place: Place) -> None:
    before, after = place.around()
    assert before + place.removed + after == (EXAMPLES / place.file).read_text()


def test_run_shows_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(tmp_path))
    with StubEngine(tmp_path) as stub:
        shown = run("run.py")
        first, second = stub.requests[:2]
        assert (first["mode"], second["mode"]) == ("autoregressive", "verified")
        sessions = [asked["gaps"][0]["session"] for asked in (first, second)]
        assert sessions[0] != sessions[1], "one would draft what the other answered"
    assert shown.count("autoregressive") == shown.count("verified") == len(PLACES) + 1
    assert "return min(«a + b»)" in shown, "a file has no colours that tell what was suggested"
    assert "\na +░\na + b\n" in shown
