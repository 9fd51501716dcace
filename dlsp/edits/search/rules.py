"""Substitution rules learned from an edit alone, without a model: which tokens were replaced by which text."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

from dlsp.edits.history.edit import Edit
from dlsp.edits.search.page import Page, in_time, token_lines
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS, WORD, Token, is_quoted, split, tokens

# Non-blank tokens on each side of a rule that are remembered.
CONTEXT_TOKENS = 4
_SIMILAR_LINES_RATIO, _ALIKE_NAMES_RATIO = 0.5, 0.6

_RuleKey = tuple[str, tuple[str, ...], str, str]  # kind, old, new and role of a rule
_LinePair = tuple[Sequence[Token], Sequence[Token]]  # an old line and the new one


@dataclass(frozen=True)
class Rule:
    """The tokens `old` are replaced by the text `new`.

    `kind`: rename (one word by one word), case (the same in another letter case), phrase (several tokens). `left` and
    `right` are the tokens around it in the edit, nearest first. `kept` counts the places in the edited lines that still
    have `old` in the same role, `beside` those in another role. `pure`: the edit did nothing but rename. `whole`: `old`
    was the entire content of a string. `only`: the edit did nothing but rename, at some of the places in its lines.
    """

    kind: str
    old: tuple[str, ...]
    new: str
    role: str
    left: tuple[str, ...] = ()
    right: tuple[str, ...] = ()
    kept: int = 0
    beside: int = 0
    pure: bool = False
    only: bool = False
    whole: bool = False


def rules_of(edit: Edit, page: Page, until: float = math.inf) -> list[Rule]:
    """The rules learned from the edit until the time `until`; `page` is its document after the edit."""
    before = token_lines(tokens(edit.text, page.new_source()))
    after = token_lines(page.tokens)
    found: dict[_RuleKey, Rule] = {}
    for hunk, (first, last) in zip(edit.hunks, page.edited, strict=True):
        for rule in learn(before[hunk.start : hunk.end], after[first:last], until):
            found.setdefault((rule.kind, rule.old, rule.new, rule.role), rule)
    return list(found.values())


def learn(old: Sequence[Sequence[Token]], new: Sequence[Sequence[Token]], until: float = math.inf) -> list[Rule]:
    """The rules learned from the removed and the added lines, given as tokens, until the time `until`; the surest
    first."""
    rules: dict[_RuleKey, Rule] = {}
    for before, after in in_time(_pairs(old, new, until), until):
        for rule in _of_line(before, after):
            rules.setdefault((rule.kind, rule.old, rule.new, rule.role), rule)
    survivors = [token for line in new for token in line]
    pure = _only_renames(rules.values(), old, survivors)
    only = pure or _renames_some(rules.values(), old, new)
    found: list[Rule] = []
    for rule in in_time(rules.values(), until):
        kept, beside = _kept(rule, survivors)
        found.append(replace(rule, kept=kept, beside=beside, pure=pure, only=only))
    return [*found, *_cases(found)]


def _of_line(before: Sequence[Token], after: Sequence[Token]) -> Iterator[Rule]:
    one, other = [each.text for each in before], [each.text for each in after]
    for tag, i, k, j, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal" or not (_solid(one[i:k]) or _solid(other[j:m])):
            continue
        if k - i == m - j and all((a == b) or _both_words(a, b) for a, b in zip(one[i:k], other[j:m], strict=True)):
            for at, word in enumerate(other[j:m], i):
                if one[at] != word:
                    yield _rule("rename", before, at, at + 1, word)
            if k - i > 1:
                yield _rule("phrase", before, i, k, "".join(other[j:m]))
            continue
        # A pure insertion is anchored at a neighbouring word.
        start, end = i, k
        while start > 0 and not _has_word(one[start:end]):
            start -= 1
        while end < len(one) and not _has_word(one[start:end]):
            end += 1
        if _has_word(one[start:end]):
            text = "".join(one[start:i] + other[j:m] + one[k:end])
            whole = end - start == 1 and WORD.fullmatch(one[start]) and WORD.fullmatch(text)
            yield _rule("rename" if whole else "phrase", before, start, end, text)


def _rule(kind: str, line: Sequence[Token], start: int, end: int, new: str) -> Rule:
    first = next((each for each in line[start:end] if each.is_word), line[start])
    left = [each.text for each in reversed(line[:start]) if each.text.strip()]
    right = [each.text for each in line[end:] if each.text.strip()]
    old = tuple(each.text for each in line[start:end])
    whole = first.role == "string" and is_quoted(line, start, end)
    return Rule(kind, old, new, first.role, tuple(left[:CONTEXT_TOKENS]), tuple(right[:CONTEXT_TOKENS]), whole=whole)


def _only_renames(rules: Iterable[Rule], old: Sequence[Sequence[Token]], after: Sequence[Token]) -> bool:
    names = {(rule.old[0], rule.role): rule.new for rule in rules if rule.kind == "rename"}
    renamed = [names.get((token.text, token.role), token.text) for line in old for token in line]
    return bool(names) and "".join("".join(renamed).split()) == "".join("".join(each.text for each in after).split())


def _renames_some(rules: Iterable[Rule], old: Sequence[Sequence[Token]], new: Sequence[Sequence[Token]]) -> bool:
    """Whether the new lines are the old ones with names replaced, at some of their places."""
    names = {(rule.old[0], rule.new) for rule in rules if rule.kind == "rename"}
    one, other = ([token.text for line in lines for token in line if token.text.strip()] for lines in (old, new))
    return len(one) == len(other) and all(a == b or (a, b) in names for a, b in zip(one, other, strict=True))


def _kept(rule: Rule, survivors: Sequence[Token]) -> tuple[int, int]:
    """How often the rule's old tokens remain in the edited lines outside of its new text: in the rule's role, in
    others."""
    same = other = 0
    for at in range(len(survivors)):
        there = survivors[at : at + len(rule.old)]
        if tuple(each.text for each in there) == rule.old:
            role = next((each.role for each in there if each.is_word), there[0].role)
            same, other = (same + 1, other) if role == rule.role else (same, other + 1)
    texts = split(rule.new)
    given = sum(tuple(texts[at : at + len(rule.old)]) == rule.old for at in range(len(texts)))
    return max(0, same - given), max(0, other - max(0, given - same))


@lru_cache(1000)
def alike(one: str, other: str) -> bool:
    """Whether two names are similar, so that one is the other renamed rather than something else in its place."""
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio() > _ALIKE_NAMES_RATIO


def by_words(one: str, other: str) -> bool:
    """Whether two names differ in whole words of two letters or more, so that neither is the other one mistyped or half
    typed."""
    parts, others = ([part.lower() for part in _PARTS.findall(name)] for name in (one, other))
    gone, come = [part for part in parts if part not in others], [part for part in others if part not in parts]
    is_whole = all(len(part) > 1 for part in come)
    return parts != others and is_whole and not any(alike(part, new) for part in gone for new in come)


def _cases(rules: Sequence[Rule]) -> Iterator[Rule]:
    """Yield rules for a renamed name in other letter cases (snake, upper, camel, pascal)."""
    known = {rule.old for rule in rules}
    for rule in rules:
        if rule.kind == "rename" and WORD.fullmatch(rule.new):
            for old, new in in_cases(rule.old[0], rule.new):
                if (old,) not in known:
                    known.add((old,))
                    yield Rule("case", (old,), new, rule.role, pure=rule.pure)


def _pairs(old: Sequence[Sequence[Token]], new: Sequence[Sequence[Token]], until: float) -> Iterator[_LinePair]:
    """Yield pairs of old and new lines: in order if their numbers are equal, else the most similar. Long lines are left
    out."""
    if len(old) == len(new):
        yield from (pair for pair in zip(old, new, strict=True) if not any(map(_is_long, pair)))
        return
    left = [at for at, line in enumerate(new) if not _is_long(line)]
    for line in (each for each in old if not _is_long(each)):
        rated = [(_alike(line, new[at]), -at) for at in in_time(left, until)]
        ratio, at = max(rated, default=(0.0, 0))
        if ratio > _SIMILAR_LINES_RATIO:
            left.remove(-at)
            yield line, new[-at]


def _alike(one: Sequence[Token], other: Sequence[Token]) -> float:
    texts = [each.text for each in one], [each.text for each in other]
    return SequenceMatcher(None, *texts, autojunk=False).ratio()


def _is_long(line: Sequence[Token]) -> bool:
    return bool(line) and line[-1].end - line[0].start > MAX_LINE_CHARACTERS


def _solid(texts: Sequence[str]) -> bool:
    return any(each.strip() for each in texts)


def _has_word(texts: Sequence[str]) -> bool:
    return any(WORD.fullmatch(each) for each in texts)


def _both_words(one: str, other: str) -> bool:
    return bool(WORD.fullmatch(one) and WORD.fullmatch(other))


# The fewest letters and digits of a name that is renamed in other letter cases too.
MIN_NAME_CHARACTERS = 3
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def in_cases(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Yield the old and the new name in each letter case: renaming `Testdir` also renames `testdir` and `TESTDIR`."""
    parts, others = _PARTS.findall(old), _PARTS.findall(new)
    if len("".join(parts)) < MIN_NAME_CHARACTERS or not others:
        return
    for written in (_snake, _upper, _camel, _pascal):
        if written(parts) != written(others):
            yield written(parts), written(others)


def _snake(parts: list[str]) -> str:
    return "_".join(parts).lower()


def _upper(parts: list[str]) -> str:
    return "_".join(parts).upper()


def _pascal(parts: list[str]) -> str:
    return "".join(part[:1].upper() + part[1:].lower() for part in parts)


def _camel(parts: list[str]) -> str:
    pascal = _pascal(parts)
    return pascal[:1].lower() + pascal[1:]
