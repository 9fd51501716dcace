"""Which lines of a file the model is asked to write anew after an edit."""

import random
from itertools import pairwise

from dlsp.edits.history.edit import Edit
from dlsp.edits.rewrite.formats import FORMATS, MAX_PAST, OWN, before, numbered
from dlsp.edits.rewrite.windows import MAX_WINDOWS, request, windows
from dlsp.edits.search.page import Page
from dlsp.syntax import languages
from dlsp_engine.serve.rewrites import parse_rewrites
from tests.dlsp.ignore.planted import LINES

FILLER = "".join(f"a{n} = {n}\n" for n in range(60))


def edited(before: str, old: str, new: str) -> tuple[Edit, Page]:
    """A file in which `old` became `new` where it stands first."""
    after = before.replace(old, new, 1)
    edit = Edit.between("a.py", before, after)
    return edit, Page("u", "a.py", after, languages.of("a.py"), tuple(edit.ranges()))


def test_the_lines_from_the_edit_on_come_first_and_the_edit_itself_stays() -> None:
    edit, own = edited(FILLER, "a20 = 20", "b20 = 20")
    first, *others = windows(edit, own)
    assert others == []
    assert (first.start, first.keep, first.end) == (20 - OWN.above, OWN.above + 1, 21 + OWN.below)
    assert first.lines[first.keep - 1] == "b20 = 20\n"


def test_lines_with_a_word_of_the_edit_have_windows_above_and_below() -> None:
    text = "use(late_fee)\n" + FILLER + "late_fee = 1\n" + FILLER + "print(late_fee)\n"
    edit, own = edited(text.replace("late_fee = 1", "late_fee = 1  # here"), "late_fee = 1  # here", "overdue = 1")
    found = windows(edit, own)
    held = [each.text for each in found]
    assert "use(late_fee)" in held[1] + held[2]
    assert "print(late_fee)" in held[1] + held[2]
    assert all(not own.is_edited(row, row + 1) for each in found[1:] for row in range(each.start, each.end))


def test_windows_are_few_and_never_overlap() -> None:
    text = "".join(f"x{n} = late_fee({n})\n" + FILLER[:200] for n in range(12))
    for row in range(0, 12, 3):
        edit, own = edited(text, f"x{row} = late_fee({row})", f"x{row} = overdue({row})")
        found = sorted(windows(edit, own), key=lambda each: each.start)
        assert 1 <= len(found) <= MAX_WINDOWS
        assert all(one.end <= other.start for one, other in pairwise(found))


def test_at_the_end_of_a_file_there_is_nothing_below() -> None:
    edit, own = edited("x = 1\ny = 2\n", "y = 2", "z = 2")
    assert windows(edit, own) == []


def test_long_lines_are_not_asked_about() -> None:
    edit, own = edited("x = 1\n" + "y" * 5000 + " = 2\n", "x = 1", "x = 3")
    assert windows(edit, own) == []


def test_the_engine_takes_the_request_and_the_edit_is_not_part_of_what_may_change() -> None:
    edit, own = edited(FILLER, "a20 = 20", "b20 = 20")
    asked = windows(edit, own)
    parsed = parse_rewrites(request(edit, asked))
    (one,) = parsed.asked
    assert one.kept.endswith("b20 = 20\n")
    assert one.edits[0].text == edit.diff()
    assert one.force is not None
    assert one.force < 0 == one.margin


def test_secret_values_of_the_edit_stay_where_they_are() -> None:
    for line, value in LINES.values():
        edit, own = edited("x = 1\n" + FILLER, "x = 1", line.rstrip("\n"))
        assert value not in request(edit, windows(edit, own))["edits"][0]["text"]


SWEEP, ZETA = FORMATS["sweep"], FORMATS["zeta2"]


def test_sweep_s_windows_have_21_lines_of_which_those_down_to_the_edit_stay() -> None:
    edit, own = edited(FILLER, "a20 = 20", "b20 = 20")
    (one,) = parse_rewrites(request(edit, windows(edit, own, SWEEP), SWEEP)).asked
    assert one.text.count("\n") == 21
    assert (one.row, one.kept.count("\n")) == (10, 11)
    assert one.cursor == len(one.kept) - 1, "at the end of the edit"
    assert one.before == one.text.replace("b20", "a20")
    assert one.files[0].path == "a.py"
    assert one.files[0].text == FILLER, "as it was"
    assert (one.prefix, one.suffix, one.force) == ("", "", None)


def test_zeta_s_regions_are_around_the_edit_with_some_lines_of_the_file_on_each_side() -> None:
    edit, own = edited(FILLER, "a30 = 30", "b30 = 30")
    (one,) = parse_rewrites(request(edit, windows(edit, own, ZETA), ZETA)).asked
    assert (one.text.count("\n"), one.kept) == (31, "")
    whole = own.text
    at = whole.index(one.prefix + one.text + one.suffix)
    assert one.prefix.count("\n") == one.suffix.count("\n") == ZETA.context
    assert whole[: at + len(one.prefix)].count("\n") == one.row
    assert one.cursor is not None
    assert one.text[: one.cursor].endswith("b30 = 30")
    assert one.files == ()


def test_the_edits_before_are_shown_to_models_that_expect_them_but_for_large_ones() -> None:
    edit, own = edited(FILLER, "a20 = 20", "b20 = 20")
    past = [Edit.between("a.py", f"x = {n}\n", f"x = {n + 1}\n") for n in range(MAX_PAST + 2)]
    past.insert(-1, Edit.between("a.py", "", FILLER))
    for form in (SWEEP, ZETA):
        (one,) = parse_rewrites(request(edit, windows(edit, own, form), form, past)).asked
        assert len(one.edits) == MAX_PAST + 1
        assert f"+x = {MAX_PAST + 2}\n" in one.edits[-2].text
        assert one.edits[-1].text == numbered(edit)
    (one,) = parse_rewrites(request(edit, windows(edit, own), past=past)).asked
    assert [each.text for each in one.edits] == [edit.diff()]


def test_a_window_elsewhere_has_the_cursor_at_the_line_with_the_word() -> None:
    text = "late_fee = 1\n" + FILLER + "print(late_fee)\n" + FILLER
    edit, own = edited(text, "late_fee = 1", "overdue = 1")
    for form in (SWEEP, ZETA):
        other = parse_rewrites(request(edit, windows(edit, own, form), form)).asked[1]
        assert other.cursor is not None
        assert other.text[: other.cursor].endswith("print(late_fee)")
        assert other.before == other.text


def test_a_diff_s_heads_say_where_its_hunks_are() -> None:
    after = FILLER.replace("a1 = 1\n", "a1 = 1\nb = 1\n").replace("a40 = 40\n", "").replace("a59 = 59\n", "c\n")
    edit = Edit.between("a.py", FILLER, after)
    diff = numbered(edit)
    heads = [line for line in diff.splitlines() if line.startswith("@@")]
    assert heads == ["@@ -1,5 +1,6 @@", "@@ -38,7 +39,6 @@", "@@ -57,4 +57,4 @@"]
    rows = after.splitlines()
    for head, hunk in zip(heads, diff.split("@@\n")[1:], strict=True):
        first, count = (int(each) for each in head.split("+")[1].removesuffix(" @@").split(","))
        lines = [line[1:] for line in hunk.splitlines() if line[:1] in " +"]
        assert lines == rows[first - 1 : first - 1 + count]


def test_what_a_window_was_before_the_edit() -> None:
    rng = random.Random(0)
    for _ in range(200):
        old, new = ("".join(rng.choices(["a\n", "b\n", "c\n", "d\n"], k=12)) for _ in range(2))
        edit = Edit.between("a.py", old, new)
        rows = len(new.splitlines())
        first, last = sorted(rng.sample(range(rows + 1), 2))
        parts = [before(edit, 0, first), before(edit, first, last), before(edit, last, rows)]
        assert "".join(parts) == old
