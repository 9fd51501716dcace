"""Proposals for an edit, in the order found: those the edit proves by itself, then those the model has judged."""

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.rank.evidence import score
from dlsp.edits.rank.sites import sites
from dlsp.edits.rank.weights import WEIGHTS
from dlsp.edits.search.page import Page, Site
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS
from dlsp.ignore.values import without_secrets


class JudgingEngine(Protocol):
    """An engine, or a connection to one."""

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...


@dataclass(frozen=True)
class Proposal:
    """A site to be shown; `confidence` is the probability that its new lines are exactly right, from 0 to 1."""

    site: Site
    confidence: float

    @property
    def hunk(self) -> Hunk:
        return self.site.hunk

    @property
    def certain(self) -> bool:
        """Whether scopes and imports alone prove that the edit must follow here; only such sites are part of "apply
        all"."""
        return self.site.certain


def learned(edit: Edit, own: Page, pages: Sequence[Page], seconds: float | None = None) -> list[Proposal]:
    """The proposals without a model, found within `seconds`: sites that are certain or whose odds are high enough."""
    found = (site for site in sites(edit, own, pages, seconds) if site.certain or site.odds > WEIGHTS.learned_from)
    return [_unasked(site) for site in found]


def _unasked(site: Site) -> Proposal:
    """A proposal from the edit and the text alone, without asking the model."""
    return Proposal(site, probability(site.odds))


def probability(odds: float) -> float:
    """The probability for the given log odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


DIFF_NAME = "edit.diff"
# Lines shown around a text to be judged.
LINES_BEFORE, LINES_AFTER = 6, 3
# The most characters of these on each side, and of the edit; the engine rejects requests that are too long.
MAX_AROUND_CHARACTERS, MAX_EDIT_CHARACTERS = 2_000, 100_000


def request(edit: Edit, sites: Sequence[Site]) -> dict[str, Any]:
    """Build the request that has all these sites judged."""
    return {"edit": [{"path": DIFF_NAME, "text": shown(edit)}], "sites": [_site(site) for site in sites]}


def shown(edit: Edit) -> str:
    """The edit's diff, shortened, with secret values hidden: it enters the prompts of other files."""
    shown = "\n".join(line[:MAX_LINE_CHARACTERS] for line in edit.diff().split("\n"))[:MAX_EDIT_CHARACTERS]
    return without_secrets(shown)


def _site(site: Site) -> dict[str, Any]:
    page, first, last = site.page, site.start, site.start + len(site.old)
    return {
        "path": page.path,
        "prefix": "".join(page.lines[max(0, first - LINES_BEFORE) : first])[-MAX_AROUND_CHARACTERS:],
        "suffix": "\n" + "".join(page.lines[last : last + LINES_AFTER])[:MAX_AROUND_CHARACTERS],
        "text": "".join(site.old).rstrip("\r\n"),
        "candidates": ["".join(site.lines).rstrip("\r\n")],
        "propose": False,
    }


# Larger differences of log-probabilities are cut to this.
MAX_LOG_DIFFERENCE = 12.0


def judged(site: Site, event: dict[str, Any]) -> Proposal | None:
    """The proposal for a site after the engine's `site` event; None to leave the site unchanged."""
    odds = score(WEIGHTS.judge, numbers(event["text"], event["candidates"][0], site.odds))
    return Proposal(site, probability(odds)) if odds > WEIGHTS.judged_from else None


def numbers(old: dict[str, Any], new: dict[str, Any], odds: float) -> list[float]:
    """The judge's features, one for each of NUMBERS.

    The last is how much likelier the new text is than the old one given the edit, in units of MAX_LOG_DIFFERENCE. The
    likelihoods without the edit are not used: they add nothing, because the new text comes from the edit.
    """
    return [1.0, odds, _bounded(new["with"] - old["with"])]


NUMBERS = ("always", "odds", "with")


def _bounded(value: float) -> float:
    return max(-MAX_LOG_DIFFERENCE, min(MAX_LOG_DIFFERENCE, value)) / MAX_LOG_DIFFERENCE


# Sites judged in one engine request.
SITES_PER_REQUEST = 8
MAX_JUDGED_SITES = 32


async def proposals(
    engine: JudgingEngine | None, edit: Edit, own: Page, pages: Sequence[Page], batch: int = SITES_PER_REQUEST
) -> AsyncGenerator[Proposal]:
    """Yield the proposals for `edit`, sure ones first.

    Without an engine, only those that the edit proves by itself. `batch` sites are judged per request. May raise
    EngineGone.
    """
    if engine is None:
        for proposal in await asyncio.to_thread(learned, edit, own, pages):
            yield proposal
        return
    doubtful: list[Site] = []
    for site in await asyncio.to_thread(sites, edit, own, pages):
        if site.certain or site.odds > WEIGHTS.sure_from or not site.old:
            yield _unasked(site)
        elif site.odds > WEIGHTS.asked_from:
            doubtful.append(site)
    for start in range(0, min(len(doubtful), MAX_JUDGED_SITES), batch):
        async with aclosing(_judged(engine, edit, doubtful[start : start + batch])) as found:
            async for proposal in found:
                yield proposal


async def _judged(engine: JudgingEngine, edit: Edit, asked: Sequence[Site]) -> AsyncGenerator[Proposal]:
    async with aclosing(engine.sites(request(edit, asked))) as events:
        async for event in events:
            number: int = event["site"]
            if proposal := judged(asked[number], event):
                yield proposal
