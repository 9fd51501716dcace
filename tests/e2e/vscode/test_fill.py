"""Filling a function, with the real server and a stub for an engine: canvas, keep, dismiss, code action."""

import time
from collections.abc import Callable

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import ADD, ADDED, CANVAS, DONE, FILLED, bodies, events
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.settings import CLOSE, COMMIT, FILL, REWRITE
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


GHOST = "\n    return a + b"


def test_the_canvas_comes_into_focus_and_is_kept(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.wait_for_ghost(f"{GHOST}░░")
    code.screenshot("canvas")
    assert code.text() == ADD
    stub.raw = events(FILLED, DONE)
    stub.more.clear()
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.wait_for_ghost(GHOST)
    code.screenshot("filled")
    assert code.text() == ADD
    code.press("Tab")
    code.until(lambda: code.after() == "", "the hint is gone")
    code.wait_for_text(ADDED)
    code.press("Control+Z")
    code.wait_for_text(ADD)
    gap = bodies(stub)[-1]["gaps"][0]
    assert (gap["prefix"], gap["suffix"]) == ("def add(a, b):\n    ", "")


def test_dismiss(code: Code, asked: Callable[..., None]) -> None:
    asked(CANVAS, FILLED, DONE)
    code.wait_for_ghost(GHOST)
    code.until(lambda: HINT in code.after(), "all of it is shown")
    code.press("Escape")
    code.until(lambda: HINT not in code.after() and code.ghost() == "", "nothing is shown")
    code.press("Tab")
    assert code.text() != ADDED


def test_dismiss_while_it_runs(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.wait_for_ghost(f"{GHOST}░░")
    code.press("Escape")
    stub.wait_for(lambda stub: stub.dropped)
    code.until(lambda: code.ghost() == "", "the canvas is gone")
    assert code.text() == ADD


def test_tab_while_it_runs_does_nothing(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.wait_for_ghost(f"{GHOST}░░")
    code.press("Tab")
    time.sleep(1)  # the key has been dealt with
    stub.raw = events(FILLED, DONE)
    stub.more.clear()
    code.until(lambda: HINT in code.after(), "the function is shown")
    assert code.text() == ADD
    code.wait_for_ghost(GHOST)
    code.press("Tab")
    code.wait_for_text(ADDED)


def test_typing_ends_it_and_half_a_function_is_never_there(
    code: Code, stub: StubEngine, asked: Callable[..., None]
) -> None:
    asked(CANVAS, hold=True)
    code.wait_for_ghost(f"{GHOST}░░")
    code.press("Control+End")
    code.type("y")
    stub.wait_for(lambda stub: stub.dropped)
    assert code.text() == f"{ADD}y"


def test_a_cursor_that_has_gone_comes_back_by_tab(code: Code, asked: Callable[..., None]) -> None:
    asked(CANVAS, FILLED, DONE)
    code.wait_for_ghost(GHOST)
    code.until(lambda: HINT in code.after(), "all of it is shown")
    code.press("Control+End")
    code.until(lambda: code.ghost() == "", "it is not seen")
    code.press("Tab")
    code.wait_for_ghost(GHOST)
    assert code.text() == ADD
    code.press("Tab")
    code.wait_for_text(ADDED)


def test_vs_codes_own_accept_takes_the_old_text_away(code: Code, asked: Callable[..., None]) -> None:
    asked(CANVAS, FILLED, DONE)
    code.wait_for_ghost(GHOST)
    code.until(lambda: HINT in code.after(), "all of it is shown")
    code.press(COMMIT)
    code.wait_for_text(ADDED)


def test_another_tab_meanwhile_is_left_alone_and_the_function_waits(
    code: Code, stub: StubEngine, asked: Callable[..., None]
) -> None:
    asked(CANVAS, hold=True)
    code.wait_for_ghost(f"{GHOST}░░")
    filled, other = code.name, code.open("y = 2\n", alone=False)
    stub.raw = events(FILLED, DONE)
    stub.more.clear()
    code.until(lambda: code.status()[0] == "sparkle", "the function is there")
    code.press("Tab", "Escape")
    assert code.text() == "y = 2\n    "
    code.show(filled)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.wait_for_ghost(GHOST)
    code.press("Tab")
    code.wait_for_text(ADDED)
    code.show(other)
    code.press(CLOSE)
    code.show(filled)


LONG = "def total(xs):\n    s = 0\n    for x in xs:\n        s = s + x\n    return s\n\n\nx = 1\n"
SUMMED = "def total(xs):\n    return sum(xs)\n\n\nx = 1\n"


@pytest.mark.parametrize("key", [FILL, REWRITE], ids=["command", "action"])
def test_selected_lines_are_written_anew(code: Code, stub: StubEngine, key: str) -> None:
    stub.raw = events({**FILLED, "text": "return sum(xs)\n"}, DONE)
    code.open(LONG)
    code.go(2, 1)
    code.press(*["Shift+ArrowDown"] * 4)
    deadline = time.monotonic() + 30
    while not bodies(stub) and time.monotonic() < deadline:
        code.press(key)
        time.sleep(2)  # VS Code asks nobody for the actions of a file that it has opened only just now
    code.until(lambda: HINT in code.after(), "the lines are shown")
    code.screenshot("selection")
    code.wait_for_ghost("\n    return sum(xs)")
    code.press("Tab")
    code.wait_for_text(SUMMED)


def test_a_function_elsewhere_dismisses_the_one_that_is_hidden(
    code: Code, stub: StubEngine, asked: Callable[..., None]
) -> None:
    asked(CANVAS, FILLED, DONE)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.wait_for_ghost(GHOST)
    hidden, other = code.name, code.open(ADD, alone=False)
    code.press("Control+Home", FILL)
    code.until(lambda: HINT in code.after(), "the other function is shown")
    code.wait_for_ghost(GHOST)
    code.press("Tab")
    code.wait_for_text(ADDED)
    code.show(hidden)
    code.wait_for_text(ADD)
    code.show(other)
    code.press(CLOSE)
    code.show(hidden)


def test_a_server_that_ends_meanwhile_is_said(code: Code, stub: StubEngine, asked: Callable[..., None]) -> None:
    asked(CANVAS, hold=True)
    code.wait_for_ghost(f"{GHOST}░░")
    for each in servers(code):
        each.kill()
    code.until(code.notifications, "it is said")
    assert code.notifications() == ["dlsp: the server ended before it had an answer."]
    code.clear_notifications()
    assert code.text() == ADD
    code.until(lambda: code.status()[0] == "sparkle", "there is another server")


def test_a_place_without_a_function_says_so(code: Code, asked: Callable[..., None]) -> None:
    asked(FILLED, DONE)
    code.wait_for_ghost(GHOST)
    code.until(lambda: HINT in code.after(), "the function is shown")
    code.press("Tab")
    code.wait_for_text(ADDED)
    code.press("Control+End", FILL)
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
    code.wait_for_ghost(GHOST)
    code.press("Tab")
    code.wait_for_text(ADDED)
