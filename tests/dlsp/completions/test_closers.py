"""Closing brackets and quotes behind the cursor. `|` is the cursor."""

import pytest

from dlsp.completions.closers import MAX_LINE_CHARACTERS, behind, inserted, replaced
from tests.dlsp.completions.cursors import cursor


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("def f(|)", ")"),
        ("print(len(a|))", "))"),
        ("d['|']", "']"),
        ('print(f"{|}")  ', '}")'),
        ("don't (|)", ")"),
        ("x = [(1, 2), (|)]", ")]"),
        ("f(')', |)", ")"),
        ("f(a|", ""),
        ("f(|):", ""),
        ("f(|) + 1", ""),
        ("f(a)|)", ""),
        ("[|)", ""),
        ("x|)", ""),
        ("'(|)", ")"),
        ("((((((|))))))", ""),
    ],
)
def test_only_what_the_line_has_opened_and_nothing_else_is_behind(line: str, found: str) -> None:
    assert behind(*line.split("|")) == found


def test_a_line_too_long_to_be_read_at_each_key_has_none() -> None:
    assert behind("f(" + "x" * (MAX_LINE_CHARACTERS - 2), ")") == ")"
    assert behind("f(" + "x" * MAX_LINE_CHARACTERS, ")") == ""


@pytest.mark.parametrize(
    ("text", "closers", "count", "before"),
    [
        ("a, b):", ")", 1, "a, b"),
        ("a, b", ")", 0, "a, b"),
        ("g(a), [b]) + c(d)", ")", 1, "g(a), [b]"),
        ("a) + 1", "))", 1, "a"),
        ("a)) + 1", "))", 2, "a"),
        ('key\'] = "]"', "']", 2, "key"),
        (r"it's \"quoted\" (or not)", '")', 0, r"it's \"quoted\" (or not)"),
        ("it's (x\")", '")', 2, "it's (x"),
        ("')'", ")", 0, "')'"),
        ("\n    a,\n    b,\n)\nc", ")", 1, "\n    a,\n    b,\n"),
        ("a", "", 0, "a"),
    ],
)
def test_closers_that_a_text_has_itself(text: str, closers: str, count: int, before: str) -> None:
    assert replaced(text, closers) == count
    assert inserted(text, closers) == before


def test_a_cursor_apart_from_its_closers() -> None:
    here = cursor("x = 1\nf(", ")\ny = 2").apart_from_closers()
    assert (here.before, here.closers, here.after) == ("x = 1\nf(", ")", "\ny = 2")
    assert here.line_after == ")"
    assert here.apart_from_closers() is here
    accepted = here.accepted("a):", 1)
    assert (accepted.before, accepted.closers, accepted.after) == ("x = 1\nf(a):", "", "\ny = 2")
