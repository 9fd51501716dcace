"""The proposals for an edit as they become known: what it teaches by itself, and what the model says of the rest."""

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
from dlsp.edits.search.tokens import LONGEST


class JudgingEngine(Protocol):
    """An engine, or a connection to one."""

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]: ...


@dataclass(frozen=True)
class Proposal:
    """A site to be shown; `confidence` is how likely its lines are exactly right, from 0 to 1."""

    site: Site
    confidence: float

    @property
    def hunk(self) -> Hunk:
        return self.site.hunk

    @property
    def certain(self) -> bool:
        """Whether scopes and imports alone decide that the edit has to follow here: only such sites go with "all"."""
        return self.site.certain


def learned(edit: Edit, own: Page, pages: Sequence[Page]) -> list[Proposal]:
    """What the edit itself teaches, without a model: the sites that are sure enough."""
    found = (site for site in sites(edit, own, pages) if site.certain or site.odds > WEIGHTS.learned_from)
    return [_unasked(site) for site in found]


def _unasked(site: Site) -> Proposal:
    """By the edit and the text alone."""
    return Proposal(site, probability(site.odds))


def probability(odds: float) -> float:
    """From the logarithm of the odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))


NAME = "edit.diff"
# Lines shown around a text that is judged.
BEFORE, AFTER = 6, 3
# Characters of the same on each side, and of the edit, at most: the engine refuses what is too long as a whole.
AROUND, EDIT = 2_000, 100_000


def request(edit: Edit, sites: Sequence[Site]) -> dict[str, Any]:
    """The body of a request that has all sites judged."""
    return {"edit": [{"path": NAME, "text": _shown(edit)}], "sites": [_site(site) for site in sites]}


def _shown(edit: Edit) -> str:
    return "\n".join(line[:LONGEST] for line in edit.diff().split("\n"))[:EDIT]


def _site(site: Site) -> dict[str, Any]:
    page, first, last = site.page, site.start, site.start + len(site.old)
    return {
        "path": page.path,
        "prefix": "".join(page.lines[max(0, first - BEFORE) : first])[-AROUND:],
        "suffix": "\n" + "".join(page.lines[last : last + AFTER])[:AROUND],
        "text": "".join(site.old).rstrip("\r\n"),
        "candidates": ["".join(site.lines).rstrip("\r\n")],
        "propose": False,
    }


# Differences of log-probabilities beyond this say nothing more.
MOST = 12.0


def judged(site: Site, event: dict[str, Any]) -> Proposal | None:
    """What to propose at a site after the engine's `site` event; None: leave it as it is."""
    odds = score(WEIGHTS.judge, numbers(event["text"], event["candidates"][0], site.odds))
    return Proposal(site, probability(odds)) if odds > WEIGHTS.judged_from else None


def numbers(old: dict[str, Any], new: dict[str, Any], odds: float) -> list[float]:
    """One for each of NUMBERS: how much likelier the new text is than the old one with the edit in sight, in shares of
    MOST. Without the edit in sight says nothing more: the texts come from it."""
    return [1.0, odds, _bounded(new["with"] - old["with"])]


NUMBERS = ("always", "odds", "with")


def _bounded(value: float) -> float:
    return max(-MOST, min(MOST, value)) / MOST


# Sites that the engine judges together.
BATCH = 8
MOST_JUDGED = 32


async def proposals(
    engine: JudgingEngine | None, edit: Edit, own: Page, pages: Sequence[Page], batch: int = BATCH
) -> AsyncGenerator[Proposal]:
    """The sure ones first. Without an engine only what the edit teaches by itself; may raise EngineGone.

    `batch` sites are judged together.
    """
    if engine is None:
        for proposal in await asyncio.to_thread(learned, edit, own, pages):
            yield proposal
        return
    doubtful = []
    for site in await asyncio.to_thread(sites, edit, own, pages):
        if site.certain or site.odds > WEIGHTS.sure_from or not site.old:
            yield _unasked(site)
        elif site.odds > WEIGHTS.asked_from:
            doubtful.append(site)
    for start in range(0, min(len(doubtful), MOST_JUDGED), batch):
        async with aclosing(_judged(engine, edit, doubtful[start : start + batch])) as found:
            async for proposal in found:
                yield proposal


async def _judged(engine: JudgingEngine, edit: Edit, asked: Sequence[Site]) -> AsyncGenerator[Proposal]:
    async with aclosing(engine.sites(request(edit, asked))) as events:
        async for event in events:
            if proposal := judged(asked[event["site"]], event):
                yield proposal
