"""The real thing from the key to the file: VS Code, the server, the engine and the model."""

import ast
from pathlib import Path

import pytest

from dlsp.engine import state
from dlsp.models.catalogue import DEFAULT
from tests.e2e.texts import COUNT, FINE, fines
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import FILL
from tests.e2e.walk import kill

pytestmark = pytest.mark.model


def test_a_suggestion_is_shown_and_accepted(real: Code) -> None:
    before, after = fines()
    real.open(before[:-1] + after, "fines.py")
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
    assert real.text() == before + ghost + after
    real.press("Control+Z")
    assert real.text() == before + after


def test_a_function_is_filled_and_kept(real: Code) -> None:
    real.open(COUNT, "count.py")
    real.press("Control+Home", FILL)
    real.wait_for_ghost(seconds=120)
    real.screenshot("focus")  # the canvas, if the answer takes longer than the picture
    real.until(lambda: "Tab keeps" in real.after(), "the function is shown", 120)
    real.until(lambda: (ghost := real.ghost()) and "░" not in ghost, "all of it is drawn")
    real.screenshot("real-filled")
    assert real.text() == COUNT
    real.press("Tab")
    real.until(lambda: real.after() == "" and real.text() != COUNT, "it is kept")
    filled = real.text()
    head, tail = COUNT.split("    pass\n")
    assert filled.startswith(head)
    assert filled.endswith(tail)
    assert filled.removeprefix(head).removesuffix(tail).strip() not in ("", "pass")
    ast.parse(filled)
    real.press("Control+Z")
    assert real.text() == COUNT


def test_the_status_says_what_a_loading_engine_does(real: Code, engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLSP_STATE_DIR", str(engine))
    running = state.read(DEFAULT.name)
    assert running
    kill(running.pid)
    real.open("")
    real.type("x = ")
    said: set[str] = set()

    def loaded() -> bool:
        icon, sentence = real.status()
        if icon == "sync":
            said.add(sentence)
        return bool(said) and icon in ("sparkle", "dash")

    real.until(loaded, "the engine is there again", 120)
    assert "dlsp: loading" not in said  # and nothing else
