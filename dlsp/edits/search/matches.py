"""Find where the rules of an edit match in a text, and how well each place fits."""

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlsp.edits.search.page import in_time
from dlsp.edits.search.rules import CONTEXT_TOKENS, Rule
from dlsp.edits.search.tokens import Token, is_quoted


@dataclass(frozen=True)
class Match:
    """A rule that matches: the text from offset `start` to `end` would become `rule.new`.

    `left` and `right` count the tokens around it that equal those around the edit; `whole`: it is the entire content of
    a string.
    """

    rule: Rule
    start: int
    end: int
    role: str
    left: int
    right: int
    whole: bool = False


def matches(rules: Sequence[Rule], tokens: Sequence[Token], until: float = math.inf) -> list[Match]:
    """The matches in text order, not overlapping, found before the time `until`.

    Of overlapping ones, the one with more tokens wins, then the one with more equal tokens around it.
    """
    firsts: dict[str, list[Rule]] = {}
    for rule in rules:
        firsts.setdefault(rule.old[0], []).append(rule)
    found: list[Match] = []
    for at, token in enumerate(in_time(tokens, until)):
        for rule in firsts.get(token.text, ()):
            size = len(rule.old)
            if tuple(each.text for each in tokens[at : at + size]) == rule.old:
                found.append(_match(rule, tokens, at, at + size))
    found.sort(key=lambda each: (-len(each.rule.old), -(each.left + each.right), each.rule.role != each.role))
    taken: list[Match] = []
    for each in found:
        at = bisect(taken, each.start, key=lambda other: other.start)
        if not any(each.start < other.end and other.start < each.end for other in taken[max(0, at - 1) : at + 1]):
            taken.insert(at, each)
    return taken


def _match(rule: Rule, tokens: Sequence[Token], start: int, end: int) -> Match:
    word = next((each for each in tokens[start:end] if each.is_word), tokens[start])
    left = _agree(rule.left, _solid(tokens, start - 1, -1))
    right = _agree(rule.right, _solid(tokens, end, 1))
    whole = word.role == "string" and is_quoted(tokens, start, end)
    return Match(rule, tokens[start].start, tokens[end - 1].end, word.role, left, right, whole)


def _solid(tokens: Sequence[Token], at: int, step: int) -> Iterator[str]:
    """Yield the non-blank tokens of the line from `at` on, in direction `step`."""
    while 0 <= at < len(tokens) and tokens[at].text != "\n":
        if tokens[at].text.strip():
            yield tokens[at].text
        at += step


def _agree(wanted: Sequence[str], there: Iterator[str]) -> int:
    """The number of tokens that agree; CONTEXT_TOKENS if both sides end together before that."""
    count = 0
    for one in wanted[:CONTEXT_TOKENS]:
        if next(there, None) != one:
            return count
        count += 1
    return CONTEXT_TOKENS if len(wanted) < CONTEXT_TOKENS and next(there, None) is None else count
