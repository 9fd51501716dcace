"""The real thing from the key to the file: VS Code, the server, the engine and the model."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsp.engine import launch
from dlsp.models.catalogue import DEFAULT
from tests.e2e.vscode.code import FILL, Code
from tests.e2e.vscode.provide import Editor

pytestmark = pytest.mark.model

EXAMPLES = Path(__file__).parents[3] / "examples" / "lending"
FINE = "    return min("
BODY = '''def mean(numbers: list[float]) -> float:
    """The arithmetic mean of the numbers."""
    pass


def half(number: float) -> float:
    return number / 2
'''


@pytest.fixture(scope="module")
def real(programs: tuple[Editor, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Code]:
    """A VS Code whose server starts the engine; it is ended after the tests."""
    folder, state = tmp_path_factory.mktemp("real"), tmp_path_factory.mktemp("state")
    (folder / "project").mkdir()
    with Code(*programs, folder, folder / "project", state) as code:
        code.open("x = 1\n")
        code.until(lambda: code.status()[0] == "sparkle", "the engine is ready", 180)
        yield code
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DLSP_STATE_DIR", str(state))
        asyncio.run(launch.stop(DEFAULT))


def test_a_suggestion_is_shown_and_accepted(real: Code) -> None:
    before, after = (EXAMPLES / "fines.py").read_text().split(FINE + "cents, HIGHEST_FINE")
    real.open(before + FINE[:-1] + after, "fines.py")
    real.go(before.count("\n") + 1, len(FINE))
    ghost = ""
    for _ in range(10):  # a busy machine's engine may take too long for one request
        real.insert("(")
        try:
            ghost = real.wait_for_ghost(seconds=10)
            break
        except AssertionError:
            real.press("Backspace")
    assert "HIGHEST_FINE" in ghost
    real.screenshot("real")
    real.press("Tab")
    assert real.text() == before + FINE + ghost + after
    real.press("Control+Z")
    assert real.text() == before + FINE + after


def test_a_function_is_filled_in_while_one_looks(real: Code) -> None:
    real.open(BODY, "mean.py")
    real.press("Control+Home", FILL)
    seen = set()

    def done() -> bool:
        behind = real.after()
        seen.add(behind)
        if behind:
            real.screenshot("focus" if "Tab" not in behind else "real-filled")
        return "Tab keeps" in behind

    real.until(done, "the function is shown", 120)
    assert len(seen - {""}) > 2
    real.press("Tab")
    filled = real.text()
    head, tail = BODY.split("    pass\n")
    assert filled.startswith(head)
    assert filled.endswith(tail)
    assert filled.removeprefix(head).removesuffix(tail).strip() not in ("", "pass")
    ast.parse(filled)
    real.press("Control+Z")
    assert real.text() == BODY
