"""Keystrokes become edits by place and pause; undoing removes them; what was carried on is nobody's own edit."""

import pytest

from dlsp.edits.history import history
from dlsp.edits.history.history import Change, History
from dlsp.edits.history.hunks import Hunk

TEXT = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def past(clock: Clock) -> History:
    made = History(clock)
    made.opened("u", TEXT)
    return made


def test_keystrokes_at_one_place_are_one_edit(past: History) -> None:
    assert past.changed("u", TEXT) is Change.NONE
    for text in ("al", "alp", "alpha"):
        assert past.changed("u", TEXT.replace("a = 1", f"{text} = 1")) is Change.EDITED
    step = past.last
    assert step
    edit = past.edit(step, "u.py")
    assert edit
    assert edit.hunks == (Hunk(0, 1, ("alpha = 1\n",)),)


def test_edits_of_a_document_before_one_are_known(past: History, clock: Clock) -> None:
    past.opened("other", TEXT)
    texts = [TEXT, *(TEXT.replace("a = 1", f"{name} = 1") for name in ("x", "y", "z"))]
    for text in texts[1:]:
        clock.now += history.EDIT_PAUSE_S + 1
        past.changed("u", text)
        past.changed("other", text)
    past.changed("u", texts[-1] + "f = 6\n")
    assert past.last
    assert [[step.before, step.after] for step in past.earlier(past.last, 2)] == [texts[1:3], texts[2:4]]
    assert past.earlier(past.last, 0) == []


def test_another_place_or_a_pause_begins_another(past: History, clock: Clock) -> None:
    past.changed("u", one := TEXT.replace("a = 1", "x = 1"))
    past.changed("u", two := one.replace("e = 5", "y = 5"))
    assert past.last
    assert past.last.before == one
    clock.now = history.EDIT_PAUSE_S + 1
    past.changed("u", two.replace("y = 5", "z = 5"))
    assert past.last.before == two


def test_undoing_removes(past: History) -> None:
    past.changed("u", one := TEXT.replace("a = 1", "x = 1"))
    past.changed("u", one.replace("e = 5", "y = 5"))
    assert past.changed("u", one) is Change.UNDONE
    assert past.last
    assert past.last.before == TEXT
    assert past.changed("u", TEXT) is Change.UNDONE
    assert past.last is None


def test_what_was_offered_is_carried_on(past: History) -> None:
    past.changed("u", one := TEXT.replace("a = 1", "x = 1"))
    edited = past.last
    past.expect("u", [Hunk(3, 4, ("x = 4\n",)), Hunk(4, 5, ("x = 5\n",))])
    assert past.changed("u", two := one.replace("e = 5", "x = 5")) is Change.CARRIED
    assert past.last is edited
    assert past.changed("u", one) is Change.UNDONE
    past.expect("u", [Hunk(3, 4, ("x = 4\n",)), Hunk(4, 5, ("x = 5\n",))])
    assert past.changed("u", two.replace("d = 4", "x = 4")) is Change.CARRIED, "two at once, lines beside each other"
    past.expect("u", [Hunk(1, 2, ("x = 2\n",))])
    assert past.changed("u", one.replace("b = 2", "x = 3")) is Change.EDITED


def test_documents_of_a_workspace_have_one_history(past: History) -> None:
    past.opened("v", TEXT)
    past.changed("u", TEXT.replace("a = 1", "x = 1"))
    past.changed("v", TEXT.replace("a = 1", "x = 1"))
    assert past.last
    assert past.last.uri == "v"
    past.closed("v")
    assert past.last.uri == "u"


def test_it_is_bounded(past: History, clock: Clock) -> None:
    text = TEXT
    for number in range(3 * history.MAX_STEPS):
        clock.now += history.EDIT_PAUSE_S + 1
        past.changed("u", text := text.replace("a = ", f"a = {number}", 1))
    assert len(past._steps) == history.MAX_STEPS


def test_a_formatted_file_is_no_edit_to_carry_on(past: History) -> None:
    past.changed("u", "".join(f"line {number}\n" for number in range(history.MAX_EDIT_LINES + 1)))
    assert past.last
    assert past.edit(past.last, "u.py") is None
