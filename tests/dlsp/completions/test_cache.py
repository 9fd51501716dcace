"""Answers are recalled as long as the document agrees with them. `|` is the cursor."""

import pytest

from dlsp.completions.cache import MAX_CACHED_COMPLETIONS, CachedCompletion, CompletionCache, Remainder, before_closers

BEFORE, AFTER = "def f(a):\n    return ", "\n\nf(1)\n"
TEXT = "sum(a) + 1\n    pass"


def answered(text: str = TEXT, before: str = BEFORE, after: str = AFTER) -> CachedCompletion:
    answer = CachedCompletion.between(before, after)
    answer.text, answer.reason = text, "line"
    return answer


LEFT = {
    "at once": ("|", TEXT),
    "after typing that agrees": ("sum(|", "a) + 1\n    pass"),
    "over a line's end": ("sum(a) + 1\r\n    |", "pass"),
    "all of it": (TEXT + "|", ""),
    "not after typing that does not agree": ("sum[|", None),
    "not beyond its end": (TEXT + "\n|", None),
    "before a bracket that closed itself": ("sum(|)", "a) + 1\n    pass"),
    "not before other new text": ("sum(|x", None),
    "over Enter between brackets": ("sum(a) + 1\n    |\n    }", "pass"),
    "not over Enter before other text": ("sum(a) + 1\n    |\n    x", None),
}


@pytest.mark.parametrize(("typed", "left"), LEFT.values(), ids=LEFT)
def test_rest(typed: str, left: str | None) -> None:
    before, after = typed.split("|")
    rest = answered().remainder(BEFORE + before, after + AFTER)
    assert (rest.text if rest else None) == left


def test_another_document_before_or_after() -> None:
    answer = answered()
    assert answer.remainder(BEFORE.replace("def", "fed"), AFTER) is None
    assert answer.remainder(BEFORE, AFTER.replace("1", "2")) is None
    assert answer.remainder(BEFORE[:-1], AFTER) is None


def test_backspace_gives_back_the_earlier_one() -> None:
    memory = CompletionCache()
    first, second = answered(), answered("x\n", BEFORE + "so")
    memory.add(first)
    memory.add(second)
    for typed, answer in (("", first), ("s", first), ("so", second), ("s", first), ("", first)):
        found = memory.find(BEFORE + typed, AFTER)
        assert found
        assert found[0] is answer


def test_one_with_something_left_goes_before_one_that_has_ended() -> None:
    memory = CompletionCache()
    older, newer = answered("sum(a) + 1"), answered("um(a)", BEFORE + "s")
    memory.add(older)
    memory.add(newer)
    found = memory.find(BEFORE + "sum(a)", AFTER)
    assert found
    assert found[0] is older
    found = memory.find(BEFORE + "sum(a) + 1", AFTER)
    assert found
    assert found[1].text == ""


def test_a_bounded_number() -> None:
    memory = CompletionCache()
    for number in range(MAX_CACHED_COMPLETIONS + 1):
        memory.add(answered(before=f"{number}\n"))
    assert memory.find("0\n", AFTER) is None
    assert memory.find("1\n", AFTER)


def test_what_was_offered_shrinks() -> None:
    answer = answered()
    first = answer.remainder(BEFORE, AFTER)
    assert first
    answer.shown = Remainder("sum(a)", first.typed, first.closers)
    for typed, left in (("", "sum(a)"), ("sum", "(a)"), ("sum(a)", ""), ("sum(a) +", "")):
        rest = answer.remainder(BEFORE + typed, AFTER)
        assert rest
        assert answer.still_shown(rest) == left


def test_before_closers_the_first_line_ends() -> None:
    assert before_closers("a) + 1\nx", "    return sum(", ")") == "a"
    assert before_closers("a, b", "f(", ")") == "a, b"
    assert before_closers('key"]', 'd["', '"]') == "key"
    assert before_closers("a\nb", "x", "") == "a\nb"


def test_before_closers_below_the_block_ends() -> None:
    assert before_closers("if (a) {\n    b();\n  }\n  c();\n}\nd();", "  ", "\n}") == "if (a) {\n    b();\n  }\n  c();"
    assert before_closers("a,\n  b\n", "  ", "\n") == "a,\n  b"


def test_what_leads_to_a_place() -> None:
    answer = answered(before=BEFORE + "sum(a)")
    assert answer.is_ahead_of(BEFORE + "su", AFTER)
    assert not answer.is_ahead_of(BEFORE + "ma", AFTER)
    assert not answer.is_ahead_of(BEFORE + "sum(a) ", AFTER)
    assert not answer.is_ahead_of(BEFORE + "su", AFTER + "x")


def test_the_confidence_of_a_part() -> None:
    answer = answered("abcdef\n")
    answer.confidence = [(2, -1.0), (4, -2.0), (1, -3.0), (0, -4.0)]
    assert answer.log_p(0, 6) == [-1.0, -2.0]
    assert answer.log_p(3, 6) == [-1.5]
    assert answer.log_p(0, 2) == [-1.0]
    assert answer.log_p(2, 7) == [-2.0, -3.0]
    assert list(answer.tokens(0)) == [(2, -1.0), (4, -2.0), (1, -3.0)]
    assert list(answer.tokens(3)) == [(3, -1.5), (1, -3.0)]
