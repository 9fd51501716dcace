"""What is known about the typing in a document."""

import pytest

from dlsp.completions.cache import CachedCompletion, Remainder
from dlsp.completions.gate.features import Edit
from dlsp.completions.state import MAX_EDITS_WITHOUT_REQUEST, DocumentState
from dlsp.completions.types import DocumentChange, Position
from dlsp.settings.schema import Settings
from tests.dlsp.completions.cursors import cursor


def bytes_of(text: str) -> int:
    return len(text.encode())


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> DocumentChange:
    return DocumentChange(Position(*start), Position(*end), text, bytes_of)


@pytest.mark.parametrize(
    ("text", "edit"),
    [("état = 1", Edit.ACCEPTED), ("état", Edit.ACCEPTED), ("ét", Edit.TYPED), ("été ici", Edit.TYPED)],
)
def test_what_a_menu_inserted_is_known(text: str, edit: Edit) -> None:
    """The word that was typed is inserted again."""
    state = DocumentState(Settings())
    state.shown(CachedCompletion.between("", ""), Remainder("at = 1", 0), "at = 1", "at = 1")
    state.edited(change((1, 11), (1, 14), text))  # "ét" in UTF-8
    assert state.facts(cursor("")).edit is edit


@pytest.mark.parametrize(
    ("text", "cursors"),
    [
        ("a", [(1, 5)]),
        ("()", [(1, 6), (1, 5)]),
        ("\n    ", [(2, 4)]),
        ("\n        \n    ", [(3, 4), (2, 8)]),
        ("é", [(1, 6)]),
    ],
)
def test_where_a_change_leaves_the_cursor(text: str, cursors: list[tuple[int, int]]) -> None:
    assert list(change((1, 4), (1, 4), text).cursors) == cursors


def test_a_client_that_does_not_ask_any_more() -> None:
    state = DocumentState(Settings())
    assert not state.client_is_requesting
    state.requested()
    for _ in range(MAX_EDITS_WITHOUT_REQUEST):
        state.edited(None)
        assert state.client_is_requesting
    state.edited(None)
    assert not state.client_is_requesting


def test_what_was_dismissed_stays_so_on_its_line_alone() -> None:
    state = DocumentState(Settings())
    state.shown(CachedCompletion.between("", ""), Remainder("a\nb", 0), "a\nb", "a\r\nb")
    state.dismissed(3)
    assert state.is_dismissed(3, "a\nb")
    assert state.is_dismissed(3, "a")
    assert not state.is_dismissed(2, "a")
    assert not state.is_dismissed(3, "c")
    state.edited(change((0, 0), (0, 0), "x"))
    assert state.facts(cursor("")).dismissed == 1
