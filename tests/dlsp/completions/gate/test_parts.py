"""The parts of a line that can be offered, and which of them is."""

from dlsp.completions.gate import gate
from dlsp.completions.gate.features import Edit, Facts
from dlsp.completions.gate.parts import parts
from dlsp.completions.types import SkipReason

FACTS = Facts("    return ", "", Edit.TYPED)
LINE = "self.client.get(url)"
TOKENS = [(4, -0.01), (4, -0.02), (4, -0.03), (4, -0.04), (3, -6.0), (1, -0.01)]


def test_parts_end_with_tokens_and_words() -> None:
    found = list(parts(LINE, TOKENS))
    assert [part for part, _ in found] == ["self", "self.client.", "self.client.get", "self.client.get(url"]
    assert [len(log_p) for _, log_p in found] == [1, 3, 4, 5]


def test_what_is_short_or_whole_is_no_part() -> None:
    assert list(parts("a = b", [(1, 0.0), (2, 0.0), (2, 0.0)])) == []
    assert [part for part, _ in parts("abc = d", [(3, 0.0), (3, 0.0), (1, 0.0)])] == ["abc ="]
    assert [part for part, _ in parts('find("a")', [(6, 0.0), (3, 0.0)])] == ["find"]
    assert [part for part, _ in parts('rel="a" b', [(5, 0.0), (2, 0.0), (2, 0.0)])] == ["rel=", 'rel="a"']
    assert list(parts(" ((((a", [(5, 0.0), (1, 0.0)])) == []
    assert list(parts("ab([c", [(4, 0.0), (1, 0.0)])) == []
    assert [part for part, _ in parts('find(" a', [(7, 0.0), (1, 0.0)])] == ["find"]
    assert list(parts("", [])) == []


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
