"""Changing lines by an instruction, with the real server and a stub for an engine."""

import json

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import proposed
from tests.e2e.vscode.code import INPUT, Code
from tests.e2e.vscode.settings import INSTRUCT

LOOP = "def total(xs):\n    s = 0\n    for x in xs:\n        s = s + x\n    return s\n\n\nx = 1\n"
SUM = "def total(xs):\n    return sum(xs)\n\n\nx = 1\n"
HINT = "Tab keeps, Esc dismisses"


def instruct(code: Code, stub: StubEngine) -> None:
    """Ask for the lines of the function to be changed."""
    stub.raw = proposed("    return sum(xs)")
    code.open(LOOP)
    code.go(2, 1)
    code.press(*["Shift+ArrowDown"] * 4, INSTRUCT)
    code.browser.wait_for(INPUT)
    code.type("use the built-in sum")
    code.press("Enter")
    code.until(lambda: HINT in code.after(), "the change is shown")
    code.wait_for_ghost("\n    return sum(xs)")


def test_the_change_is_shown_first_then_kept(code: Code, stub: StubEngine) -> None:
    instruct(code, stub)
    code.screenshot("instruct")
    assert code.text() == LOOP
    assert "use the built-in sum" in json.dumps(stub.requests)
    code.press("Tab")
    code.wait_for_text(SUM)
    code.press("Control+Z")
    code.wait_for_text(LOOP)


def test_it_is_left_and_nothing_has_changed(code: Code, stub: StubEngine) -> None:
    instruct(code, stub)
    code.press("Escape")
    code.until(lambda: code.ghost() == "" and HINT not in code.after(), "nothing is shown")
    assert code.text() == LOOP
