"""Edits as hunks of lines: whatever the texts, applying them gives the text after."""

import time

from hypothesis import given
from hypothesis import strategies as st

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk, applied, canonical, hunks, lines_of

LINES = st.lists(st.sampled_from(["a\n", "b\n", "  c\n", "\n"]), max_size=8)
TEXTS = st.builds(lambda lines, last: "".join(lines) + last, LINES, st.sampled_from(["", "a", "é"]))


@given(TEXTS, TEXTS)
def test_applying_an_edit_gives_the_text_after(before: str, after: str) -> None:
    edit = Edit.between("x.py", before, after)
    assert "".join(applied(edit.before, edit.hunks)) == after
    now = lines_of(after)
    for hunk, (first, last) in zip(edit.hunks, edit.ranges(), strict=True):
        assert tuple(now[first:last]) == hunk.lines


def test_hunks_stay_in_their_order() -> None:
    """The second insertion could be said above the first, where it would come before it."""
    edit = Edit.between("x.py", "  c\né", "a\n  c\n  c\né")
    assert "".join(applied(edit.before, edit.hunks)) == "a\n  c\n  c\né"


@given(LINES, st.integers(0, 8), st.integers(0, 8), LINES)
def test_the_canonical_hunk_does_the_same(before: list[str], one: int, other: int, lines: list[str]) -> None:
    start, end = sorted((min(one, len(before)), min(other, len(before))))
    hunk = Hunk(start, end, tuple(lines))
    short = canonical(hunk, before)
    assert applied(before, [short]) == applied(before, [hunk])
    assert short.end - short.start <= end - start


def test_hunks_are_far_up_and_short() -> None:
    before, after = ["a\n", "b\n", "b\n"], ["a\n", "b\n", "b\n", "b\n"]
    assert hunks(before, after) == [Hunk(1, 1, ("b\n",))]


def test_a_diff_shows_the_lines_around() -> None:
    edit = Edit.between("x.py", "1\n2\n3\nold\n5", "1\n2\n3\nnew\n5")
    assert edit.diff(1) == "--- a/x.py\n+++ b/x.py\n@@ @@\n 3\n-old\n+new\n 5\n"


def test_hunks_touch_where_they_share_a_line_or_an_edge_is_inserted_at() -> None:
    line = Hunk(3, 4, ("x\n",))
    assert line.touches(Hunk(3, 4, ()))
    assert line.touches(Hunk(4, 4, ("y\n",)))
    assert line.touches(Hunk(3, 3, ("y\n",)))
    assert not line.touches(Hunk(4, 5, ()))
    assert not line.touches(Hunk(2, 3, ()))
    assert not line.touches(Hunk(5, 5, ("y",)))


def test_a_whole_file_that_changed_is_one_hunk_at_once() -> None:
    before = "".join(f"line {number}\n" for number in range(20_000))
    began = time.monotonic()
    edit = Edit.between("x.py", before, before.replace("line", "row"))
    assert len(edit.hunks) == 1
    assert time.monotonic() - began < 5, "line by line this takes minutes"
