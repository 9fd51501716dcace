"""What was accepted is counted by day, for the user alone."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from dlsp.completions import accepts
from dlsp.completions.accepts import Accepts, Total

TODAY = date(2026, 3, 1)


@pytest.fixture
def file(state_folder: Path) -> Path:
    return state_folder / "accepts.json"


def test_suggestions_and_their_characters(file: Path) -> None:
    counts = Accepts(lambda: TODAY)
    counts.accepted("return 🙂", 9, "a")
    counts.accepted("a + b", 2, "b")  # its words, one after the other
    counts.accepted("a + b", 4, "b")
    counts.accepted("a + b", 5, "b")
    counts.accepted("a + b", 5, "c")  # the same text again
    counts.accepted("a + b", 5)
    counts.accepted("", 0)
    counts.accepted("x", -1)
    counts.save()
    assert accepts.total(7, TODAY) == Total(4, 8 + 3 * 5)


def test_servers_add_up_and_old_days_are_dropped(file: Path) -> None:
    for ago in (0, 6, 7, 59, 61):
        one, other = (Accepts(lambda day=TODAY - timedelta(ago): day) for _ in range(2))
        for each in (one, other):
            each.accepted("abc", 3)
            each.save()
            each.save()
    assert accepts.total(7, TODAY) == Total(4, 12)
    assert len(json.loads(file.read_text())) == 5
    newest = Accepts(lambda: TODAY)
    newest.accepted("abc", 3)
    newest.save()
    assert len(json.loads(file.read_text())) == 4


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": [1, 2]}', '{"2026-03-01": 3}', '{"2026-03-01": ["a", "b"]}'])
def test_a_file_that_holds_something_else_counts_as_none(file: Path, text: str) -> None:
    file.write_text(text)
    assert accepts.total(7, TODAY) == Total()
    counts = Accepts(lambda: TODAY)
    counts.accepted("abc", 3)
    counts.save()
    assert accepts.total(7, TODAY) == Total(1, 3)
