"""The sites of an edit: where it may have to follow, each with the text that the edit itself suggests there."""

import math
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.evidence import evidence, group, score
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.search.matches import Match, matches
from dlsp.edits.search.page import SEARCH_S, Page, Site, in_time
from dlsp.edits.search.repeats import repeated
from dlsp.edits.search.rules import Rule, rules_of
from dlsp.edits.search.standing import Standing, Verdict
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS
from dlsp.syntax.source import Source, encoded

# Sites that are looked at, those best founded first.
MAX_SITES = 64


@dataclass(frozen=True)
class Marked:
    """A line of a page with the rules that match in it, the numbers that speak for each, and what is known of each."""

    page: Page
    row: int
    found: tuple[Match, ...]
    numbers: tuple[list[float], ...]
    verdicts: tuple[Verdict, ...]

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
        known = _known(page, standings, until)
        rows: dict[int, list[Match]] = {}
        for match in _matches(page, rules, known, until):
            row = page.row(match.start)
            short = len(page.lines[row]) <= MAX_LINE_CHARACTERS
            if short and row == page.row(match.end - 1) and not page.is_edited(row, row + 1):
                rows.setdefault(row, []).append(match)
        for row, found in in_time(rows.items(), until):
            numbers, verdicts = [], []
            for match in found:
                standing = standings.get(match.rule)
                at = standing.at(page, match.start) if standing else ""
                numbers.append(evidence(match, at, bool(standing and standing.is_taken), counts))
                verdicts.append(_verdict(match, known))
            yield Marked(page, row, tuple(found), tuple(numbers), tuple(verdicts))


def _known(page: Page, standings: dict[Rule, Standing], until: float) -> dict[int, tuple[Match, Verdict]]:
    """What scopes and imports say of each place of a renamed name, by its offset."""
    return {
        match.start: (match, standings[match.rule].verdict(page, match.start))
        for match in matches(list(standings), page.tokens, until)
    }


def _matches(
    page: Page, rules: Sequence[Rule], known: dict[int, tuple[Match, Verdict]], until: float
) -> Iterator[Match]:
    """Where the rules apply. A name that certainly follows is renamed and nothing else done there."""
    sure = [match for match, verdict in known.values() if verdict is Verdict.CERTAIN]
    yield from sure
    starts = [match.start for match in sure]
    for match in matches(rules, page.tokens, until):
        if not any(match.start <= start < match.end for start in starts[bisect_left(starts, match.start) :][:1]):
            yield match


def _verdict(match: Match, known: dict[int, tuple[Match, Verdict]]) -> Verdict:
    """Of a phrase: whether a name in it is known to be another one than the edit renamed."""
    if match.start in known and known[match.start][0].rule.old == match.rule.old:
        return known[match.start][1]
    inside = [known[at][1] for at in range(match.start, match.end) if at in known]
    return Verdict.REFUSED if Verdict.REFUSED in inside else Verdict.OPEN


def sites(edit: Edit, own: Page, pages: Sequence[Page]) -> list[Site]:
    """Those found in SEARCH_S, none touching another: first those that are certain, then the best founded.

    None in another language, none that changes white space alone, and none that breaks what parsed before; none at all
    of an edit that does so itself, which is not finished.
    """
    until = time.monotonic() + SEARCH_S
    if _breaks(edit, own):
        return []
    pages = [page for page in pages if page.speaks_as(own)]
    lines = list(marked(edit, own, pages, until))
    refused = {(line.page.uri, line.row) for line in lines if Verdict.REFUSED in line.verdicts}
    copies = [
        site
        for site in repeated(edit, own, pages, until)
        if not any((site.page.uri, row) in refused for row in range(site.start, site.start + max(1, len(site.old))))
    ]
    found: list[Site] = []
    for site in sorted([*copies, *substituted(lines)], key=lambda each: (not each.certain, -each.odds)):
        if len(found) == MAX_SITES:
            break
        if not (site.is_long or site.is_blank or any(site.touches(other) for other in found)):
            found.append(site)
    broken = {site for page in pages for site in _breaking(page, [each for each in found if each.page is page], until)}
    return [site for site in found if site not in broken]


def _breaking(page: Page, found: Sequence[Site], until: float) -> list[Site]:
    """The sites of a page that would make its syntax worse. A name for a name, which is what is certain, does not."""
    asked = [site for site in found if not site.certain]
    if not asked or not page.breaks(asked):
        return []
    return [site for site in asked if time.monotonic() > until or page.breaks([site])]


def _breaks(edit: Edit, own: Page) -> bool:
    """Whether the edit left its page with more places that do not parse than there were."""
    if own.source is None or own.language is None or not edit.hunks:
        return False
    source = Source(own.language)
    before, after = source.update(edit.text), own.source.update(own.text)
    at = len(encoded("".join(edit.before[: edit.hunks[0].start])))
    return source.errors(before, at) < own.source.errors(after, at)


def substituted(lines: Iterable[Marked]) -> Iterator[Site]:
    """The lines that would change by what the edit teaches.

    In each those matches count that are certain; where none is, those that are sure enough to be shown; where none is,
    those that are worth a question.
    """
    for line in lines:
        odds = [score(WEIGHTS.match[group(each, it)], it) for each, it in zip(line.found, line.numbers, strict=True)]
        rated = [
            (match, each, verdict is Verdict.CERTAIN)
            for match, each, verdict in zip(line.found, odds, line.verdicts, strict=True)
            if verdict is not Verdict.REFUSED
        ]
        if not rated:
            continue
        certain = any(is_certain for *_, is_certain in rated)
        least = WEIGHTS.learned_from if max(each for _, each, _ in rated) > WEIGHTS.learned_from else WEIGHTS.asked_from
        kept = [(match, each) for match, each, sure in rated if (sure if certain else each > least)]
        old, new = line.page.lines[line.row], line.with_only([match for match, _ in kept])
        if kept and old != new:
            yield Site(line.page, line.row, (old,), (new,), min(each for _, each in kept), certain)
