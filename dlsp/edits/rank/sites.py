"""The sites of an edit: where it may have to follow, each with the text that the edit itself suggests there."""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.evidence import evidence, group, score
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.search.matches import Match, matches
from dlsp.edits.search.page import SEARCH_S, Page, Site, in_time
from dlsp.edits.search.repeats import again
from dlsp.edits.search.rules import rules_of
from dlsp.edits.search.standing import Standing
from dlsp.edits.search.tokens import LONGEST

MOST = 64
"""Sites that are looked at, those best founded first."""


@dataclass(frozen=True)
class Marked:
    """A line of a page with the rules that match in it, and the numbers that speak for each."""

    page: Page
    row: int
    found: tuple[Match, ...]
    numbers: tuple[list[float], ...]

    def with_only(self, kept: Sequence[Match]) -> str:
        """The line after some of the matches were replaced."""
        line, base = self.page.lines[self.row], self.page.starts[self.row]
        text, at = "", base
        for match in kept:
            text += line[at - base : match.start - base] + match.rule.new
            at = match.end
        return text + line[at - base :]


def marked(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Marked]:
    """The lines of all pages in which something can be substituted, as far as they are found `until` then; `own` is
    the page of the edit."""
    rules = rules_of(edit, own, until)
    if not rules:
        return
    standings = {rule: Standing(rule, own, until) for rule in rules if rule.kind == "rename"}
    counts = Counter(
        token.text
        for page in in_time(pages, until)
        for token in page.tokens
        if token.is_word and not page.is_edited_at(token.start)
    )
    for page in in_time(pages, until):
        rows: dict[int, list[Match]] = {}
        for match in matches(rules, page.tokens, until):
            row = page.row(match.start)
            short = len(page.lines[row]) <= LONGEST
            if short and row == page.row(match.end - 1) and not page.is_edited(row, row + 1):
                rows.setdefault(row, []).append(match)
        for row, found in in_time(rows.items(), until):
            numbers = []
            for match in found:
                standing = standings.get(match.rule)
                at = standing.at(page, match.start) if standing else ""
                numbers.append(evidence(match, at, bool(standing and standing.is_taken), counts))
            yield Marked(page, row, tuple(found), tuple(numbers))


def sites(edit: Edit, own: Page, pages: Sequence[Page]) -> list[Site]:
    """Those found in SEARCH_S, none touching another, the best founded first."""
    until = time.monotonic() + SEARCH_S
    known = [*again(edit, own, pages, until), *substituted(edit, own, pages, until)]
    found: list[Site] = []
    for site in sorted(known, key=lambda each: -each.odds):
        if len(found) == MOST:
            break
        if not (site.is_long or any(site.touches(other) for other in found)):
            found.append(site)
    return found


def substituted(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Site]:
    """The lines that would change by what the edit teaches, as far as they are found `until` then.

    In each those matches count that are sure enough to be shown; where none is, those that are worth a question.
    """
    for line in marked(edit, own, pages, until):
        odds = [score(WEIGHTS.match[group(each, it)], it) for each, it in zip(line.found, line.numbers, strict=True)]
        least = WEIGHTS.learned_from if max(odds) > WEIGHTS.learned_from else WEIGHTS.asked_from
        kept = [match for match, each in zip(line.found, odds, strict=True) if each > least]
        old, new = line.page.lines[line.row], line.with_only(kept)
        if kept and old != new:
            yield Site(line.page, line.row, (old,), (new,), min(each for each in odds if each > least))
