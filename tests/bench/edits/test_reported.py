"""The cases that Pyright's reports are measured on, made from one small file."""

import random

from bench.edits.reported.__main__ import faults, metrics
from bench.edits.reported.case import Case, Outcome, outcome
from bench.edits.reported.generate import File, arguments, begun, imports, names
from dlsp.edits.history.hunks import Hunk, applied, hunks
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.search.page import Site

TEXT = """import json
import re


def load(text, mode):
    return json.loads(re.sub("#.*", mode, text))


def both(first, second, mode):
    data = load(first, mode)
    more = load(second, mode)
    return data + more
"""


def made(kind: str, seed: int = 0) -> list[Case]:
    makers = {"import": imports, "name": names, "begun": begun, "argument": arguments}
    return list(makers[kind](File("a.py", TEXT), random.Random(seed)))


def judged(case: Case, *changes: Hunk) -> Outcome:
    page = case.page()
    sites = [Site(page, each.start, tuple(page.lines[each.start : each.end]), each.lines, 1.0) for each in changes]
    return outcome(case, [Proposal(site, 0.9) for site in sites], is_worse=False)


def test_a_use_is_written_whose_import_is_missing() -> None:
    found = {case.id: case for case in made("import")}
    assert set(found) == {"a.py: json", "a.py: re"}
    case = found["a.py: json"]
    assert case.after == TEXT.replace("import json\n", "")
    assert case.before == case.after.replace('    return json.loads(re.sub("#.*", mode, text))\n', "")
    right = judged(case, Hunk(0, 0, ("import json\n",)))
    assert (right.right, right.found, right.is_exact) == (1, 1, True)
    elsewhere = judged(case, Hunk(1, 1, ("import json\n",)))
    assert (elsewhere.right, elsewhere.is_exact) == (1, False)
    assert judged(case, Hunk(0, 0, ("import ujson as json\n",))).right == 0


def test_a_name_is_misspelled() -> None:
    for case in (each for seed in range(5) for each in made("name", seed)):
        (right,) = hunks(case.page().lines, TEXT.splitlines(keepends=True))
        assert "".join(applied(case.page().lines, [right])) == TEXT
        assert judged(case, right).right == 1
        assert judged(case).found == 0


def test_an_argument_is_given_at_one_call_alone() -> None:
    (case,) = made("argument")
    assert case.before == TEXT.replace("first, mode)\n", "first)\n").replace("second, mode)\n", "second)\n")
    assert case.truth == TEXT
    (wanted,) = case.wanted
    assert judged(case, wanted).is_exact


def test_the_numbers_and_what_is_said_of_faults() -> None:
    case = next(each for each in made("import") if each.id == "a.py: json")
    quiet = Case("a.py: mor", "begun", "a.py", TEXT, TEXT, TEXT)
    outcomes = [judged(case), judged(quiet, Hunk(0, 0, ("x = 1\n",)))]
    found = metrics(outcomes)
    assert (found["all/wanted"], found["all/offered"], found["all/right"], found["all/precision"]) == (1, 1, 0, 0)
    assert [line for each in outcomes for line in faults(each)] == [
        "import a.py: json: wanted: import json",
        "begun a.py: mor: wrong: x = 1",
    ]
