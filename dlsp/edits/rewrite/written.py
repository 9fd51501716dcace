"""What the model wrote in windows of a file, as sites; and all proposals for an edit, ranked by one probability."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Protocol

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk, hunks, lines_of
from dlsp.edits.rank.evidence import score
from dlsp.edits.rank.proposals import JudgingEngine, Proposal, probability, proposals
from dlsp.edits.rank.sites import brings_secret, is_unfinished
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.rewrite.formats import FORMATS, OWN, Format
from dlsp.edits.rewrite.windows import Window, request, windows
from dlsp.edits.search.page import Page, Site

# Doubts and losses are cut to so many nats.
MAX_DOUBT_NATS, MAX_LOSS_NATS = 8.0, 12.0
MAX_COUNTED_HUNKS = 5
MOST_LOG_P = -0.01  # of a text that a model is sure of: rounding alone makes it likelier
# The most seconds that the model may write: a later proposal finds the user elsewhere.
WRITING_S = 4.0
NUMBERS = ("always", "doubt", "forced", "hunks", "only adds", "only takes away", "log p", "log p of all")


class WritingEngine(JudgingEngine, Protocol):
    """An engine, or a connection to one."""

    async def edit_format(self) -> str: ...
    def rewrite(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...


def numbers(window: Window, site: Site, count: int, event: dict[str, Any]) -> list[float]:
    """The features of one of `count` sites of a window, one for each of NUMBERS; `event` is the engine's answer."""
    doubt: float = event["doubt"]
    start, end = (
        window.page.starts[row] - window.page.starts[window.start] for row in (site.hunk.start, site.hunk.end)
    )
    own = [each["log_p"] for each in event["changes"] if each["start"] <= end and start <= each["end"]]
    return [
        1.0,
        max(-MAX_DOUBT_NATS, min(MAX_DOUBT_NATS, doubt)) / MAX_DOUBT_NATS,
        float(doubt <= 0),
        min(count, MAX_COUNTED_HUNKS) / MAX_COUNTED_HUNKS,
        float(not site.old),
        float(not site.lines),
        max(-MAX_LOSS_NATS, sum(own)) / MAX_LOSS_NATS,
        max(-MAX_LOSS_NATS, sum(each["log_p"] for each in event["changes"])) / MAX_LOSS_NATS,
    ]


def odds(form: Format, given: Sequence[float]) -> float:
    """The log odds that a site with these features is right. A model that others trained says itself how sure it is of
    the text that it writes.
    """
    if form.is_own:
        return score(WEIGHTS.written, given)
    log_p = min(MOST_LOG_P, MAX_LOSS_NATS * given[NUMBERS.index("log p")])
    return log_p - math.log1p(-math.exp(log_p))


def changed(window: Window, event: dict[str, Any]) -> list[Hunk]:
    """The hunks of the page that the engine's `rewrite` event makes of a window."""
    text, at, parts = window.text, 0, list[str]()
    for change in event["changes"]:
        parts += [text[at : change["start"]], change["text"]]
        at = change["end"]
    new = lines_of("".join(parts) + text[at:])
    found = [Hunk(each.start + window.start, each.end + window.start, each.lines) for each in hunks(window.lines, new)]
    # A text that ends early has lost its end.
    is_cut = event["reason"] == "end" and found and found[-1].end == window.end and not found[-1].lines
    return found[:-1] if is_cut else found


def without_blank(hunk: Hunk, lines: Sequence[str]) -> list[Hunk]:
    """The hunk in parts, without lines of which only the white space changes, if it has as many lines as before: the
    model spaces lines anew beside those that it changes.
    """
    if hunk.end - hunk.start != len(hunk.lines):
        return [hunk]
    found: list[Hunk] = []
    for row, new in enumerate(hunk.lines, hunk.start):
        if lines[row].split() == new.split():
            continue
        if found and found[-1].end == row:
            found[-1] = Hunk(found[-1].start, row + 1, (*found[-1].lines, new))
        else:
            found.append(Hunk(row, row + 1, (new,)))
    return found


def sites(window: Window, event: dict[str, Any], form: Format = OWN) -> list[tuple[Site, list[float]]]:
    """The sites of one answer that may be offered, each with its features: none in the user's own lines, of white space
    alone, with a secret from elsewhere, or that would add syntax errors.
    """
    page, kept = window.page, list[tuple[Site, list[float]]]()
    found = [part for hunk in changed(window, event) for part in without_blank(hunk, page.lines)]
    for hunk in found:
        site = Site(page, hunk.start, tuple(page.lines[hunk.start : hunk.end]), hunk.lines, 0.0)
        given = numbers(window, site, len(found), event)
        site = replace(site, odds=odds(form, given))
        if page.is_edited(hunk.start, hunk.end) or site.is_blank or site.is_long or brings_secret(site):
            continue
        if not page.breaks([site]):
            kept.append((site, given))
    return kept


async def written(
    engine: WritingEngine,
    edit: Edit,
    own: Page,
    seconds: float = WRITING_S,
    form: Format = OWN,
    past: Sequence[Edit] = (),
) -> AsyncGenerator[tuple[Site, list[float]]]:
    """Yield the sites that the model writes within `seconds`, each with its features (NUMBERS). The gate has not been
    asked. Nothing follows an edit that leaves its page broken.
    """
    until = time.monotonic() + seconds
    if await asyncio.to_thread(is_unfinished, edit, own):
        return
    asked = windows(edit, own, form)
    if not asked:
        return
    async with aclosing(engine.rewrite(request(edit, asked, form, past))) as events:
        while (left := until - time.monotonic()) > 0:
            try:
                event: dict[str, Any] = await asyncio.wait_for(anext(events), left)
            except (StopAsyncIteration, TimeoutError):
                return
            number: int = event["window"]
            for each in await asyncio.to_thread(sites, asked[number], event, form):
                yield each


async def next_edits(
    engine: WritingEngine | None,
    edit: Edit,
    own: Page,
    pages: Sequence[Page],
    seconds: float = WRITING_S,
    past: Sequence[Edit] = (),
) -> AsyncGenerator[Proposal]:
    """Yield what should follow `edit`, each line once: what the edit proves and the model has judged, then what the
    model writes, if it is likely enough to be right. A model that was not trained to write edits is not asked, nor is
    one that dlsp trained while no gate is fitted (`WEIGHTS.written_from`). One that others trained has no gate: it was
    trained when to leave a window alone. `past` are the edits of the file before this one. May raise EngineGone.
    """
    offered: list[Site] = []
    async with aclosing(proposals(engine, edit, own, pages)) as found:
        async for proposal in found:
            offered.append(proposal.site)
            yield proposal
    if engine is None or not (form := FORMATS.get(await engine.edit_format())):
        return
    least = WEIGHTS.written_from if form.is_own else -math.inf
    if least is None:
        return
    async with aclosing(written(engine, edit, own, seconds, form, past)) as more:
        async for site, _ in more:
            if site.odds > least and not any(site.touches(other) for other in offered):
                offered.append(site)
                yield Proposal(site, probability(site.odds))
