"""The sites of an edit: where it may have to follow, each with the new text suggested by the edit itself."""

import math
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dlsp.edits.fixes.sites import fixed
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.evidence import evidence, group, score
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.search.arguments import following
from dlsp.edits.search.binding import Binding, Verdict
from dlsp.edits.search.matches import Match, matches
from dlsp.edits.search.page import SEARCH_S, Page, Site, in_time
from dlsp.edits.search.repeats import repeated
from dlsp.edits.search.rules import Rule, rules_of
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS
from dlsp.edits.search.wraps import wrapped
from dlsp.ignore.values import brought_secret
from dlsp.syntax.difference import difference
from dlsp.syntax.source import encoded

# Log odds, at least: of a place that scopes and imports tie to the edit, of which none of 556 in the traps is wrong; of
# one that declared types tie to it, about which the model is not asked; and of one that follows as often as not.
LEAST_ODDS = {Verdict.CERTAIN: 6.0, Verdict.LIKELY: WEIGHTS.sure_from + 0.1, Verdict.EVEN: 0.0}
# The most sites examined, those with the best evidence first.
MAX_SITES = 64


@dataclass(frozen=True)
class Marked:
    """A line with the matches in it, and for each match its evidence numbers and its verdict."""

    page: Page
    row: int
    found: tuple[Match, ...]
    numbers: tuple[list[float], ...]
    verdicts: tuple[Verdict, ...]

    def with_only(self, kept: Sequence[Match]) -> str:
        """The line with only the matches `kept` replaced."""
        line, base = self.page.lines[self.row], self.page.starts[self.row]
        text, at = "", base
        for match in kept:
            text += line[at - base : match.start - base] + match.rule.new
            at = match.end
        return text + line[at - base :]


def marked(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Marked]:
    """Yield the lines of all pages in which a rule matches, until the time `until`; `own` is the page of the edit."""
    rules = rules_of(edit, own, until)
    if not rules:
        return
    changed = _changed(edit, own)
    standings = {rule: Binding(rule, own, until, pages) for rule in rules if rule.kind == "rename"}
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
            is_within = page is own and any(first <= match.end and match.start <= last for first, last in changed)
            is_own = page.is_edited(row, row + 1) and (is_within or not _is_certain(match, known))
            if short and row == page.row(match.end - 1) and not is_own:
                rows.setdefault(row, []).append(match)
        for row, found in in_time(rows.items(), until):
            numbers: list[list[float]] = []
            verdicts: list[Verdict] = []
            for match in found:
                standing = standings.get(match.rule)
                at = standing.at(page, match.start) if standing else ""
                numbers.append(evidence(match, at, bool(standing and standing.is_taken), counts))
                verdicts.append(_verdict(match, known))
            yield Marked(page, row, tuple(found), tuple(numbers), tuple(verdicts))


def _changed(edit: Edit, own: Page) -> list[tuple[int, int]]:
    """The span of each hunk in the page, from the first character that it changed to the last: what the user has just
    written is not carried on, as where two names are exchanged on lines next to each other.
    """
    spans: list[tuple[int, int]] = []
    for hunk, (first, last) in zip(edit.hunks, own.edited, strict=True):
        new, old = ("".join(lines) for lines in (own.lines[first:last], edit.before[hunk.start : hunk.end]))
        start, end, _ = difference(new, old)
        spans.append((own.starts[first] + start, own.starts[first] + end))
    return spans


def _known(page: Page, standings: dict[Rule, Binding], until: float) -> dict[int, tuple[Match, Verdict]]:
    """The verdict on each place of a renamed name, by scopes and imports; keyed by offset."""
    found: dict[int, tuple[Match, Verdict]] = {}
    for match in matches(list(standings), page.tokens, until):
        standing = standings[match.rule]
        verdict = standing.verdict(page, match.start)
        if standing.is_key(page, match.start):
            rule = match.rule
            match = replace(match, rule=replace(rule, new=f"{rule.old[0]}: {rule.new}"))
        found[match.start] = match, verdict
    return found


def _matches(
    page: Page, rules: Sequence[Rule], known: dict[int, tuple[Match, Verdict]], until: float
) -> Iterator[Match]:
    """Yield the places where the rules apply. At a name that is certain to follow, only the rename applies."""
    sure = [match for match, verdict in known.values() if verdict is Verdict.CERTAIN]
    yield from sure
    starts = [match.start for match in sure]
    for match in matches(rules, page.tokens, until):
        if not any(match.start <= start < match.end for start in starts[bisect_left(starts, match.start) :][:1]):
            yield match


def _is_certain(match: Match, known: dict[int, tuple[Match, Verdict]]) -> bool:
    return match.start in known and known[match.start][1] is Verdict.CERTAIN


def _verdict(match: Match, known: dict[int, tuple[Match, Verdict]]) -> Verdict:
    """The verdict on a match; a phrase is refused if a name in it is known to be a different one than was renamed."""
    if match.start in known and known[match.start][0].rule.old == match.rule.old:
        return known[match.start][1]
    inside = [known[at][1] for at in range(match.start, match.end) if at in known]
    return Verdict.REFUSED if Verdict.REFUSED in inside else Verdict.OPEN


def sites(edit: Edit, own: Page, pages: Sequence[Page], seconds: float | None = None) -> list[Site]:
    """The sites found within `seconds`, by default SEARCH_S, that do not touch each other, the likeliest first.
    What other language servers report of the pages gives sites, too, and ranks among the others.

    Excluded are sites in another language, changes of white space only, changes that would add syntax errors, and those
    that would bring a secret value into another file. If the edit itself added syntax errors it is unfinished, and
    there are no sites.
    """
    until = time.monotonic() + (SEARCH_S if seconds is None else seconds)
    if is_unfinished(edit, own):
        return []
    pages = [page for page in pages if page.speaks_as(own)]
    lines = list(marked(edit, own, pages, until))
    refused = {(line.page.uri, line.row) for line in lines if Verdict.REFUSED in line.verdicts}
    copies = [
        site
        for site in repeated(edit, own, pages, until)
        if not any((site.page.uri, row) in refused for row in range(site.start, site.start + max(1, len(site.old))))
    ]
    calls = list(following(edit, own, pages, until))
    around = list(wrapped(edit, own, pages, until))
    texts = list(substituted(lines))
    calls += [_surer(site, texts) for site in around]
    texts = [site for site in texts if site.certain or not any(site.touches(other) for other in around)]
    fixes = list(fixed(edit, own, pages, _changed(edit, own), until))
    found: list[Site] = []
    for site in sorted([*copies, *texts, *calls, *fixes], key=lambda each: -each.odds):
        if len(found) == MAX_SITES:
            break
        if not (site.is_long or site.is_blank or any(site.touches(other) for other in found)):
            found.append(site)
    broken = {site for page in pages for site in _breaking(page, [each for each in found if each.page is page], until)}
    return [site for site in found if site not in broken and not brings_secret(site)]


def _surer(site: Site, others: Sequence[Site]) -> Site:
    """The site, as likely as the likeliest of the others that it touches."""
    return replace(site, odds=max([site.odds, *(each.odds for each in others if each.touches(site))]))


def brings_secret(site: Site) -> bool:
    """Whether the new lines hold a secret value that its page does not have yet."""
    lines = site.page.lines
    return brought_secret("".join(site.lines), "".join(lines[: site.start]), "".join(lines[site.start :])) is not None


def _breaking(page: Page, found: Sequence[Site], until: float) -> list[Site]:
    """The sites that would add syntax errors to the page."""
    if not found or not page.breaks(found):
        return []
    return [site for site in found if time.monotonic() > until or page.breaks([site])]


def is_unfinished(edit: Edit, own: Page) -> bool:
    """Whether the edit left its page with more syntax errors than before."""
    source = own.new_source()
    if own.source is None or source is None or not edit.hunks:
        return False
    before, after = source.update(edit.text), own.source.update(own.text)
    at = len(encoded("".join(edit.before[: edit.hunks[0].start])))
    return source.errors(before, at) < own.source.errors(after, at)


def substituted(lines: Iterable[Marked]) -> Iterator[Site]:
    """Yield the lines that the edit's rules would change.

    In each line, the certain matches count; if there are none, those with odds high enough to be shown; if there are
    none either, those with odds high enough to ask the model.
    """
    for line in lines:
        rated: list[tuple[Match, float, bool]] = []
        for match, numbers, verdict in zip(line.found, line.numbers, line.verdicts, strict=True):
            odds = score(WEIGHTS.match[group(match, numbers)], numbers)
            odds = max(odds, LEAST_ODDS.get(verdict, odds))
            if verdict is not Verdict.REFUSED:
                rated.append((match, odds, verdict is Verdict.CERTAIN))
        if not rated:
            continue
        certain = any(is_certain for *_, is_certain in rated)
        least = WEIGHTS.learned_from if max(each for _, each, _ in rated) > WEIGHTS.learned_from else WEIGHTS.asked_from
        kept = [(match, each) for match, each, sure in rated if (sure if certain else each > least)]
        old, new = line.page.lines[line.row], line.with_only([match for match, _ in kept])
        if kept and old != new:
            yield Site(line.page, line.row, (old,), (new,), min(each for _, each in kept), certain)
