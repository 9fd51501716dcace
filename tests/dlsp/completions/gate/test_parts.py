"""The parts of a line that can be offered, and which of them is."""

import pytest

from dlsp.completions.gate import gate
from dlsp.completions.gate.features import Edit, Facts
from dlsp.completions.gate.parts import Token, parts
from dlsp.completions.types import SkipReason

FACTS = Facts("    return ", "", Edit.TYPED)
LINE = "self.client.get(url)"
TOKENS = [(4, -0.01), (4, -0.02), (4, -0.03), (4, -0.04), (3, -6.0), (1, -0.01)]


def cut(line: str, tokens: list[Token], facts: Facts = FACTS) -> list[str]:
    """The parts without repetitions: several tokens may end in the same one."""
    return list(dict.fromkeys(part for part, _ in parts(facts, line, tokens)))


def by_character(line: str, facts: Facts = FACTS) -> list[str]:
    return cut(line, [(1, 0.0)] * len(line), facts)


def test_parts_end_with_tokens_and_words() -> None:
    found = list(parts(FACTS, "return self", [(4, 0.0), (2, -0.1), (2, -0.2), (3, 0.0)]))
    assert found == [("return", [0.0, -0.1])]


def test_what_is_short_or_whole_is_no_part() -> None:
    assert cut("a = b", [(1, 0.0), (2, 0.0), (2, 0.0)]) == []
    assert cut("abc = d", [(3, 0.0), (3, 0.0), (1, 0.0)]) == ["abc ="]
    assert cut('find("a")', [(6, 0.0), (3, 0.0)]) == ["find"]
    assert cut('rel="a" b', [(5, 0.0), (2, 0.0), (2, 0.0)]) == ["rel=", 'rel="a"']
    assert cut(" ((((a", [(5, 0.0), (1, 0.0)]) == []
    assert cut('find(" a', [(7, 0.0), (1, 0.0)]) == ["find"]
    assert cut("", []) == []


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("len(body) + 1", ["len(body)", "len(body) +"]),
        ("schedule(state, delay)", ["schedule"]),
        ("self.client.get(url)", ["self.client.get"]),
        ("std::vec::Vec<u8>", ["std::vec::Vec", "std::vec::Vec<", "std::vec::Vec<u8"]),
        ("node->next = 1", ["node->next", "node->next ="]),
        ('"accepts" in x', ['"accepts"', '"accepts" in']),
        ("rows[0][1] = x", ["rows", "rows[0]", "rows[0][1]", "rows[0][1] ="]),
        ("f('a b', c) + d", ["f('a b', c)", "f('a b', c) +"]),
    ],
)
def test_no_part_ends_in_a_bracket_a_string_or_a_dotted_name(line: str, allowed: list[str]) -> None:
    assert by_character(line) == allowed


@pytest.mark.parametrize(
    ("before", "line", "after", "allowed"),
    [
        ("x = f(", "len(body), y", "))", ["len(body", "len(body)", "len(body),"]),
        ("x = f(", "len(body), y", ")]", ["len(body)", "len(body),"]),
        ("x = f(", "rows[body], y", ")", ["rows", "rows[body]", "rows[body],"]),
        ('print("', "some words here", '")', ["some", "some words"]),
        ('print("', "some words here", "", []),
        ("print(", "'some words' % a", ")", ["'some words'", "'some words' %"]),
        ("fn f<'a>(x: &'a ", "Vec<T>, y", ")", ["Vec<", "Vec<T", "Vec<T>", "Vec<T>,"]),
    ],
)
def test_the_rest_of_the_line_may_close_what_a_part_opens(
    before: str, line: str, after: str, allowed: list[str]
) -> None:
    inside = "string" if before.endswith('"') else "code"
    assert by_character(line, Facts(before, after, Edit.TYPED, inside=inside)) == allowed


@pytest.mark.parametrize(
    ("before", "inside"),
    [("# It's ", "comment"), ("It's ", "prose"), ("    In a string of several lines: ", "string")],
)
def test_a_part_of_a_text_may_end_anywhere(before: str, inside: str) -> None:
    assert by_character("word (see below", Facts(before, "", inside=inside)) == ["word", "word (see"]


def test_the_longest_sure_part_is_shown() -> None:
    whole = gate.show(FACTS, LINE, [log_p for _, log_p in TOKENS], "auto")
    assert whole.skip is SkipReason.UNSURE
    found = gate.sure_part(FACTS, LINE, TOKENS, "auto")
    assert found
    part, verdict = found
    assert part == "self.client.get"
    assert verdict.skip is None
    assert whole.probability is not None
    assert verdict.probability is not None
    assert verdict.probability > whole.probability


def test_where_no_part_is_sure_none_is_shown() -> None:
    assert gate.sure_part(FACTS, LINE, [(width, -3.0) for width, _ in TOKENS], "auto") is None
    assert gate.sure_part(FACTS, "\n" + LINE, [(1, 0.0), *TOKENS], "auto") is None
