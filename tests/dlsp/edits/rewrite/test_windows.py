"""Which lines of a file the model is asked to write anew after an edit."""

from itertools import pairwise

from dlsp.edits.history.edit import Edit
from dlsp.edits.rewrite.windows import ABOVE_LINES, BELOW_LINES, MAX_WINDOWS, request, windows
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
    assert (first.start, first.keep, first.end) == (20 - ABOVE_LINES, ABOVE_LINES + 1, 21 + BELOW_LINES)
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
