"""Places where an editor has closed brackets, and what is seen of an answer there."""

from itertools import islice
from typing import Any

import pytest

from bench.closers import Inserting, Place, columns, places, seen, summary
from dlsp.completions.types import CompletionResult
from tests.dlsp.completions.cursors import cursor

ROW: Any = {"package": "p", "path": "p/m.py", "text": "# f(aaaa, bbbb)\n" + "x = f(g(aa), 'bb') + 1\n" * 3}


def test_columns_are_where_closers_stand_behind_the_cursor() -> None:
    assert columns("x = f([a]) + 1") == [(6, ")"), (7, "])"), (8, "])"), (9, ")")]


def test_places_are_in_lines_of_code_and_always_the_same() -> None:
    found = list(islice(places([ROW]), 3))
    assert len({place.id.rpartition(":")[0] for place in found}) == 3
    for place in found:
        assert place.before + place.rest + place.after == ROW["text"]
        assert place.closers in (")", "))", "')")
        assert not place.before.rpartition("\n")[2].startswith("#")
    assert list(islice(places([ROW]), 3)) == found


PLACE = Place("p", "m.py", "x = f(", ")", "a, b) + 1", "\n")


@pytest.mark.parametrize(
    ("text", "replaced", "right", "characters", "whole", "behind"),
    [
        ("a, b) + 1", 1, 1, 9, 1, 1),
        ("a, b)", 1, 1, 5, 0, 0),
        ("a, b", 0, 1, 4, 0, 0),
        ("a, c)", 1, 0, 0, 0, 0),
        ("", 0, 0, 0, 0, 0),
    ],
)
def test_what_is_seen(text: str, replaced: int, right: int, characters: int, whole: int, behind: int) -> None:
    found = seen(PLACE, CompletionResult(text, replaced=replaced))
    assert found == {
        "shown": int(bool(text)),
        "right": right,
        "characters": characters,
        "whole": whole,
        "behind": behind,
    }


def test_a_suggestion_that_is_inserted_completes_the_line_with_the_closers_behind_it() -> None:
    place = Place("p", "m.py", "x = f(", ")", "a, b)", "\n")
    assert seen(place, CompletionResult("a, b"))["whole"] == 1
    assert seen(place, CompletionResult("a, b)", replaced=1))["whole"] == 1


def test_the_other_way_replaces_nothing() -> None:
    here = cursor("f(", ")")
    assert Inserting(**vars(here)).apart_from_closers().after == ")"


def test_precision_is_the_share_of_what_is_shown() -> None:
    samples = [
        {
            "left": 9,
            "replaced": seen(PLACE, CompletionResult(text, replaced=1)),
            "inserted": seen(PLACE, CompletionResult()),
        }
        for text in ("a, b) + 1", "c)")
    ]
    metrics = summary(samples)
    assert (metrics["left"], metrics["replaced/shown"], metrics["replaced/precision"]) == (18, 2, 0.5)
    assert metrics["inserted/precision"] == 0
