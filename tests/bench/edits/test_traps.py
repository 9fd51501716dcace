"""Traps of installed packages, a sample of them: what must stay does, and what must follow is offered."""

import pytest

from bench.edits.traps.__main__ import answered
from bench.edits.traps.generate import of_single_files
from bench.edits.traps.merged import NEW
from bench.edits.traps.trap import Trap, outcome, summary
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.search.page import Site

TRAPS_PER_LANGUAGE = 4


@pytest.mark.parametrize("language", ["python", "c", "cpp", "rust", "go", "java"])
def test_nothing_wrong_is_offered_and_all_that_must_follow(language: str) -> None:
    outcomes = [answered(trap) for trap in of_single_files(language, TRAPS_PER_LANGUAGE, seed=1)]
    assert len(outcomes) == TRAPS_PER_LANGUAGE
    assert [each.wrong for each in outcomes if each.wrong] == []
    assert [(each.trap.id, each.missing) for each in outcomes if each.missing] == []
    assert all(each.certain for each in outcomes)


def test_what_an_answer_to_a_trap_is_worth() -> None:
    text = "def f(a):\n    return a\n\n\ndef g(a):\n    return a + a\n"
    partners = frozenset({("a.py", text.index("a\n"))})
    trap = Trap("a", "parameter", {"a.py": text}, "a.py", text.index("a)"), "a", NEW, partners, partners)
    page = trap.page()

    def proposed(row: int, new: str, certain: bool) -> Proposal:
        return Proposal(Site(page, row, (page.lines[row],), (new,), 1.0, certain), 0.9)

    right = proposed(1, f"    return {NEW}\n", True)
    wrong = proposed(5, f"    return {NEW} + a\n", False)
    found = summary([outcome(trap, [right, wrong])])
    assert (found["partners_offered"], found["decided_offered"]) == (1, 1)
    assert (found["certain"], found["wrong_certain"], found["single"], found["wrong_single"]) == (1, 0, 1, 1)
    assert found["wrong_single_share"] == 1
    assert outcome(trap, [proposed(1, "    return b\n", True)]).wrong_certain
    assert outcome(trap, []).missing == set(partners)
