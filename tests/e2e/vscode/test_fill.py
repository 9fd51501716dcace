"""Filling a function, with the real server and a stub for an engine: canvas, keep, dismiss, code action."""

import time
from collections.abc import Callable

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import ADD, ADDED, CANVAS, DONE, FILLED, bodies, events
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import CLOSE, FILL, REWRITE
from tests.e2e.vscode.test_status import servers

HINT = "Tab keeps, Esc dismisses"


@pytest.fixture
def asked(code: Code, stub: StubEngine) -> Callable[..., None]:
    """Ask for the function of ADD, where an engine answers with these events, or holds its answer back after them."""

    def ask(*each: object, hold: bool = False, key: str = FILL) -> None:
        stub.raw = events(*each)
        if hold:
            stub.more.set()
        code.open(ADD)
        code.press("Control+Home", key)

    return ask


def test_the_canvas_comes_into_focus_and_is_kept(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.until(lambda: " + b░░" in code.after(), "the canvas is shown")
    code.screenshot("canvas")
    assert code.lines()[:2] == ["def add(a, b):", "    return a"]
    stub.raw = events(FILLED, DONE)
    stub.more.clear()
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.screenshot("filled")
    code.press("Tab")
    code.until(lambda: code.after() == "", "the hint is gone")
    assert code.text() == ADDED
    code.press("Control+Z")
    assert code.text() == ADD
    gap = bodies(stub)[-1]["gaps"][0]
    assert (gap["prefix"], gap["suffix"]) == ("def add(a, b):\n    ", "")


def test_dismiss(code: Code, asked: Callable[..., None]) -> None:
    asked(CANVAS, FILLED, DONE)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.press("Escape")
    code.until(lambda: HINT not in code.after(), "the hint is gone")
    code.wait_for_text(ADD)
    code.press("Tab")
    assert code.text() != ADDED


def test_dismiss_while_it_runs(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.until(lambda: "░░" in code.after(), "the canvas is shown")
    code.press("Escape")
    stub.wait_for(lambda stub: stub.dropped)
    code.until(lambda: "░" not in code.after(), "the canvas is gone")
    code.wait_for_text(ADD)


def test_an_edit_ends_it_and_nothing_is_lost(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.until(lambda: "░░" in code.after(), "the canvas is shown")
    code.press("Control+End")
    code.type("y")
    stub.wait_for(lambda stub: stub.dropped)
    assert code.text() == "def add(a, b):\n    return a\n\n\nx = 1\ny"


def test_another_tab_meanwhile_is_left_alone_and_the_function_waits(
    code: Code, stub: StubEngine, asked: Callable[..., None]
) -> None:
    asked(CANVAS, hold=True)
    code.until(lambda: "░░" in code.after(), "the canvas is shown")
    filled, other = code.name, code.open("y = 2\n", alone=False)
    stub.raw = events(FILLED, DONE)
    stub.more.clear()
    code.until(lambda: code.status()[0] == "sparkle", "the function is there")
    code.press("Tab", "Escape")
    assert code.text() == "y = 2\n    "
    code.show(filled)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.show(other)
    code.show(filled)
    code.until(lambda: HINT in code.after(), "the function is shown again")
    code.press("Escape")
    code.wait_for_text(ADD)
    code.press(FILL)
    code.until(lambda: HINT in code.after(), "another is shown")
    code.press("Tab", "Control+Z")
    code.wait_for_text(ADD)
    code.show(other)
    code.press(CLOSE)
    code.show(filled)


def test_a_function_elsewhere_dismisses_the_one_that_is_hidden(
    code: Code, stub: StubEngine, asked: Callable[..., None]
) -> None:
    asked(CANVAS, FILLED, DONE)
    code.until(lambda: HINT in code.after(), "the function is shown")
    hidden, other = code.name, code.open(ADD, alone=False)
    code.press("Control+Home", FILL)
    code.until(lambda: HINT in code.after(), "the other function is shown")
    code.press("Tab")
    assert code.text() == ADDED
    code.show(hidden)
    code.wait_for_text(ADD)
    code.show(other)
    code.press(CLOSE)
    code.show(hidden)


def test_a_server_that_ends_meanwhile_puts_back_what_was_there(
    code: Code, stub: StubEngine, asked: Callable[..., None]
) -> None:
    asked(CANVAS, hold=True)
    code.until(lambda: "░░" in code.after(), "the canvas is shown")
    for each in servers(code):
        each.kill()
    code.until(code.notifications, "it is said")
    assert code.notifications() == ["dlsp: the server ended before the function was filled in."]
    code.clear_notifications()
    code.wait_for_text(ADD)
    code.until(lambda: code.status()[0] == "sparkle", "there is another server")


def test_a_place_without_a_function_says_so(code: Code, asked: Callable[..., None]) -> None:
    asked(FILLED, DONE)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.press("Tab", "Control+End", FILL)
    code.until(lambda: any("without a body" in each for each in code.notifications()), "it is said")
    code.clear_notifications()
    assert code.text() == ADDED


def test_the_code_action_previews_too(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, FILLED, DONE, key=REWRITE)
    deadline = time.monotonic() + 30
    while not bodies(stub) and time.monotonic() < deadline:
        time.sleep(2)  # VS Code asks nobody for the actions of a file that it has opened only just now
        if not bodies(stub):
            code.press(REWRITE)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.press("Tab")
    assert code.text() == ADDED
