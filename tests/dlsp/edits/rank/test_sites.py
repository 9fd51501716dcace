"""What an edit teaches and where that applies."""

import math
import time

import pytest

from bench.edits.rows import PatientPage
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank import sites as module
from dlsp.edits.rank.sites import MAX_SITES, rules_of, sites
from dlsp.edits.search.page import Page, Site
from dlsp.syntax import languages
from tests.dlsp.ignore.planted import LINES

PYTHON = languages.LANGUAGES[0]


def carried(before: str, after: str, *others: str, seconds: float | None = math.inf) -> list[Site]:
    edit, own = made(before, after)
    pages = [own, *(PatientPage(f"{number}.py", f"{number}.py", text, PYTHON) for number, text in enumerate(others))]
    return sites(edit, own, pages, seconds)


def made(before: str, after: str) -> tuple[Edit, Page]:
    edit = Edit.between("a.py", before, after)
    return edit, PatientPage("a.py", "a.py", after, PYTHON, tuple(edit.ranges()))


def changes(sites: list[Site]) -> dict[str, str]:
    return {"".join(site.old).strip(): "".join(site.lines).strip() for site in sites}


def test_a_rename_reaches_uses_and_other_files() -> None:
    before = "def late_fee(days):\n    return days\n\n\nprint(late_fee(2), late_fee(3))\n"
    found = carried(before, before.replace("def late_fee", "def overdue_fee"), "import a\n\na.late_fee(1)\n")
    assert changes(found) == {
        "print(late_fee(2), late_fee(3))": "print(overdue_fee(2), overdue_fee(3))",
        "a.late_fee(1)": "a.overdue_fee(1)",
    }


def test_what_is_certain_is_likelier_than_all_else() -> None:
    before = "def late_fee(days):\n    return days\n\n\n# a late_fee is due\nprint(late_fee(2))\n"
    found = carried(before, before.replace("def late_fee", "def overdue_fee"))
    assert [site.certain for site in found] == [True, False]
    assert found[0].odds > found[1].odds


def test_a_call_changed_in_its_middle_is_changed_so_elsewhere() -> None:
    line = "result = runner.run(path, check=True)\n"
    before = line + "x = 1\n" + line + "result = other.run(path)\n"
    after = before.replace("check=True", "check=False", 1)
    assert changes(carried(before, after)) == {line.strip(): line.strip().replace("True", "False")}


@pytest.mark.parametrize(("end", "other"), [("\r\n", "\n"), ("\n", "\r\n")])
def test_lines_end_as_those_of_their_file(end: str, other: str) -> None:
    before = "def load(path):\n    data = path.read_text()\n    return data\n"
    for after in (
        before.replace("read_text", "read_bytes"),
        before.replace("    return", "    print(data)\n    return"),
    ):
        edit, own = made(before.replace("\n", end), after.replace("\n", end))
        page = Page("b.py", "b.py", before.replace("\n", other), PYTHON)
        (site,) = sites(edit, own, [own, page])
        there = [*page.lines]
        there[site.start : site.start + len(site.old)] = site.lines
        assert "".join(there) == after.replace("\n", other)


def test_the_edited_lines_are_no_site() -> None:
    before = "a = late_fee(late_fee)\n"
    edit, own = made(before, "a = overdue_fee(late_fee)\n")
    assert rules_of(edit, own)
    assert sites(edit, own, [own]) == []


def test_a_word_inside_another_is_left_alone() -> None:
    before = "late_fee = 1\nmy_late_fee = late_fee_of\n"
    assert carried(before, before.replace("late_fee = 1", "overdue_fee = 1", 1)) == []


def test_the_same_lines_get_the_same_edit_as_they_are_indented() -> None:
    old, new = "log(adapter(words))\n", "if words is not None:\n    log(adapter(words))\n"
    found = carried(old + "x = 1\nif x:\n    " + old, new + "x = 1\nif x:\n    " + old)
    assert [site.lines for site in found] == [("    if words is not None:\n", "        log(adapter(words))\n")]


def test_what_was_put_between_two_lines_is_put_between_them_elsewhere() -> None:
    around = "start_the_engine()\nuse_it()\n"
    before = around + "x = 1\n" + around + "start_the_engine()\n"
    (site,) = carried(before, before.replace("use_it()", "wait()\nuse_it()", 1))
    assert (site.start, site.old, site.lines) == (5, (), ("wait()\n",))


def test_one_of_several_lines_that_were_edited_is_edited_so_elsewhere() -> None:
    before = "first = load(paths, True)\nsecond = load(names)\nx = 1\nif x:\n    first = load(paths, True)\n"
    after = "first = read(paths)\nsecond = read(names, 2)\nx = 1\nif x:\n    first = load(paths, True)\n"
    assert changes(carried(before, after)) == {"first = load(paths, True)": "first = read(paths)"}


@pytest.mark.parametrize("kind", sorted(LINES.keys() - {"password"}))
def test_no_secret_is_carried_into_another_file(kind: str) -> None:
    """A short password is known by its name alone, and may be the name of something else."""
    line, value = LINES[kind]
    before = "connect(host)\nsend(data)\n"
    after = before.replace("send", line + "\nsend")
    assert value not in "".join("".join(site.lines) for site in carried(before, after, before, before + "x = 1\n"))
    found = carried(before, before.replace("send", "RETRIES = 3\nsend"), before)
    assert [site.lines for site in found] == [("RETRIES = 3\n",)], "as it does with what is none"


USE = "print(late_fee(1))\n"
DEFINED = "def late_fee(days):\n    return days\n\n\n"
OVERDUE = DEFINED.replace("late_fee", "overdue_fee")


def test_no_site_in_a_long_line() -> None:
    long = "x = [" + "0, " * 1_000 + "late_fee(1)]\n"
    assert changes(carried(DEFINED + USE + long, OVERDUE + USE + long)) == {USE.strip(): "print(overdue_fee(1))"}


def test_a_long_line_teaches_nothing_and_takes_a_moment() -> None:
    before = (
        "".join(f"{{'id': {number}, 'name': 'user{number}', 'tags': ['a', 'b']}}, " for number in range(400)) + "\n"
    )
    began = time.process_time()
    assert carried(before + USE, before.replace("'name': 'user5'", "'title': 'user5'") + USE) == []
    assert carried(before + USE, before.replace("'name': 'user5'", "'title': 'user5'") + "x = 1\n" + USE) == []
    assert time.process_time() - began < 2, "compared token by token it takes ten seconds"


def test_thousands_of_uses_take_a_moment() -> None:
    uses = "".join(f"x = late_fee({number})\n" for number in range(6_000))
    began = time.process_time()
    assert len(carried(DEFINED + uses, OVERDUE + uses)) == MAX_SITES
    assert time.process_time() - began < 4, "each compared with all others it takes a minute"


def test_nobody_looks_for_longer_than_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a deep expression the scopes of a name take long to find."""
    deep = "y = " + " +\\\n".join(["late_fee"] * 3_000) + "\n"
    monkeypatch.setattr(module, "SEARCH_S", 0.2)
    began = time.monotonic()
    carried(DEFINED + deep, OVERDUE + deep, seconds=None)
    assert time.monotonic() - began < 5
