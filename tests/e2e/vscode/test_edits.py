"""Carrying an edit on, with the real server and what it learns from the edit by itself."""

import time

import pytest

from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import CALLER, FEES, FEES_RENAMED
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.look import AFTER
from tests.e2e.vscode.settings import CLOSE

BORDERS = "() => [...document.querySelectorAll('.view-line *')].map((each) => getComputedStyle(each, '::after').border)"
HINT = "Tab next, Shift+Tab all, Esc none"
RENAMED = FEES.replace("def late_fee", "def overdue_fee")


@pytest.fixture
def renamed(code: Code, stub: StubEngine) -> Code:
    """The function of FEES was given another name, and the places that use it are shown."""
    stub.answer = lambda request: ""
    remove(code)
    code.open(FEES, "fees.py")
    code.go(1, 5)
    rename(code)
    return code


def remove(code: Code) -> None:
    """The files of tests before, which use the name, too."""
    for file in code.project.glob("*.py"):
        if "late_fee" in file.read_text():
            file.unlink()


def rename(code: Code) -> None:
    """The name at the cursor."""
    code.until(
        lambda: code.status()[0] in ("sparkle", "dash"), "the server runs"
    )  # only what it saw being edited is carried on
    code.press(*["Shift+ArrowRight"] * len("late_fee"))
    code.type("overdue_fee")
    code.until(lambda: HINT in code.after(), "places are shown")


def test_places_are_shown_where_they_are(renamed: Code) -> None:
    renamed.screenshot("edits")
    assert renamed.after() == f"    2 places: {HINT}overdue_feeoverdue_fee"
    assert " " not in renamed.browser.evaluate(AFTER), "of several blanks a browser draws one"
    assert "dashed" in str(renamed.browser.evaluate(BORDERS)), "in high contrast there is no background"
    assert renamed.text() == RENAMED


def test_go_on_here_and_there(renamed: Code) -> None:
    renamed.press("Tab", "Tab")
    renamed.until(lambda: "1 place:" in renamed.after(), "one place is left")
    assert renamed.text() == FEES_RENAMED.replace("+ overdue_fee", "+ late_fee")
    renamed.press("Tab", "Tab")
    renamed.wait_for_text(FEES_RENAMED)
    renamed.until(lambda: renamed.after() == "", "nothing is left")


def test_everywhere_is_one_undo_step(renamed: Code) -> None:
    renamed.press("Shift+Tab")
    renamed.wait_for_text(FEES_RENAMED)
    renamed.until(lambda: renamed.after() == "", "nothing is left")
    renamed.press("Control+Z")
    assert renamed.text() == RENAMED


MARKED = "() => document.querySelectorAll('.glyph-margin-widgets [class*=\"ced-\"]').length"


def test_subtle_draws_what_is_at_the_cursor(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    remove(code)
    code.open(FEES, "fees.py")
    code.configure({"dlsp.edits": "subtle"})
    try:
        code.go(1, 5)
        code.until(lambda: code.status()[0] in ("sparkle", "dash"), "the server runs")
        code.press(*["Shift+ArrowRight"] * len("late_fee"))
        code.type("overdue_fee")
        code.until(lambda: code.browser.evaluate(MARKED) == 2, "two lines are marked")
        assert code.after() == ""
        code.screenshot("subtle")
        code.go(6, 12)
        code.until(lambda: code.after() == f"overdue_fee    2 places: {HINT}", "the place at the cursor is drawn")
        code.go(2, 1)
        code.until(lambda: code.after() == "", "it is taken away again")
        code.press("End", "Tab")
        assert code.text() == RENAMED.replace("days * 2", "days * 2 "), "the key is the user's"
        code.press("Control+Z")
        code.until(lambda: code.browser.evaluate(MARKED) == 2, "they are marked again")
        code.command("dlsp: Go to the Next Edit")
        code.until(lambda: "overdue_fee" in code.after(), "the first place is drawn")
        code.press("Tab")
        code.wait_for_text(FEES_RENAMED.replace("+ overdue_fee", "+ late_fee"))
        code.until(lambda: code.browser.evaluate(MARKED) == 1, "one place is left")
    finally:
        code.configure({})


def test_dismiss(renamed: Code) -> None:
    renamed.press("Escape")
    renamed.until(lambda: renamed.after() == "", "nothing is shown")
    renamed.press("End", "Tab")
    assert renamed.text() == RENAMED.replace(":\n", ":  \n", 1)


def test_tab_indents_at_the_beginning_of_a_line(renamed: Code) -> None:
    renamed.press("ArrowDown", "Home", "Home", "Tab")
    assert renamed.text() == RENAMED.replace("    return days", "        return days")


def test_the_keys_of_another_file_are_its_own(renamed: Code) -> None:
    place, _ = renamed.name, renamed.open("x = 1\n    y = 2", "other.py", alone=False)
    time.sleep(0.5)  # what a key does follows the file by some milliseconds
    renamed.press("Shift+Tab")
    renamed.wait_for_text("x = 1\ny = 2")
    renamed.press(CLOSE)
    renamed.show(place)
    assert renamed.text() == RENAMED


def test_several_cursors_carry_it_on_themselves(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    remove(code)
    code.open(FEES, "fees.py")
    code.go(1, 5)
    code.until(lambda: code.status()[0] in ("sparkle", "dash"), "the server runs")
    code.press(*["Shift+ArrowRight"] * len("late_fee"), "Control+D")
    code.type("overdue_fee")
    time.sleep(2)  # more than the places take
    assert code.text() == FEES_RENAMED.replace("+ overdue_fee", "+ late_fee")
    assert code.after() == ""
    code.press("Escape")


def test_the_next_place_is_in_another_file(code: Code, stub: StubEngine) -> None:
    stub.answer = lambda request: ""
    remove(code)
    for name, text in {"caller.py": CALLER, "fees.py": FEES}.items():
        (code.project / name).write_text(text)
        code.show(name)
    code.go(1, 5)
    rename(code)
    code.press("Control+End", "ArrowLeft")
    time.sleep(0.5)  # what a key does follows the cursor by some milliseconds
    code.press("Tab")
    code.until(lambda: code.active() == "caller.py", "the other file is shown")
    code.until(lambda: "overdue_fee" in code.after(), "its places are shown")
    code.press("Shift+Tab")
    code.until(lambda: sorted(code.picks()) == ["caller.py", "fees.py"], "the files are named")
    code.screenshot("files")
    code.press("Enter")
    for name, text in {"caller.py": CALLER, "fees.py": FEES}.items():
        code.show(name)
        code.wait_for_text(text.replace("late_fee", "overdue_fee"))
    code.until(lambda: code.after() == "", "nothing is left")
    code.press(CLOSE, CLOSE)


@pytest.fixture
def vanished(code: Code, stub: StubEngine) -> Code:
    """The places are shown, and the other file that has some is gone."""
    stub.answer = lambda request: ""
    remove(code)
    for name, text in {"caller.py": CALLER, "fees.py": FEES}.items():
        (code.project / name).write_text(text)
    code.show("fees.py")
    code.go(1, 5)
    rename(code)
    (code.project / "caller.py").unlink()
    return code


def test_everywhere_is_where_files_are_still(vanished: Code) -> None:
    vanished.press("Shift+Tab")
    vanished.until(lambda: sorted(vanished.picks()) == ["caller.py", "fees.py"], "the files are named")
    vanished.press("Enter")
    vanished.wait_for_text(FEES_RENAMED)
    vanished.press(CLOSE)


def test_a_key_goes_on_after_one_that_failed(vanished: Code) -> None:
    vanished.press("Control+End", "ArrowUp", "End")
    time.sleep(0.5)  # what a key does follows the cursor by some milliseconds
    vanished.press("Tab")
    vanished.until(lambda: any("caller.py" in each for each in vanished.notifications()), "it is said")
    vanished.clear_notifications()
    vanished.go(6, 12)
    time.sleep(0.5)
    vanished.press("Tab")
    vanished.wait_for_text(RENAMED.replace("= late_fee", "= overdue_fee"))
    vanished.press(CLOSE)
