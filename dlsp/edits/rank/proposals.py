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
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS


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


DIFF_NAME = "edit.diff"
# Lines shown around a text that is judged.
LINES_BEFORE, LINES_AFTER = 6, 3
# Characters of the same on each side, and of the edit, at most: the engine refuses what is too long as a whole.
MAX_AROUND_CHARACTERS, MAX_EDIT_CHARACTERS = 2_000, 100_000


def request(edit: Edit, sites: Sequence[Site]) -> dict[str, Any]:
    """The body of a request that has all sites judged."""
    return {"edit": [{"path": DIFF_NAME, "text": _shown(edit)}], "sites": [_site(site) for site in sites]}


def _shown(edit: Edit) -> str:
    return "\n".join(line[:MAX_LINE_CHARACTERS] for line in edit.diff().split("\n"))[:MAX_EDIT_CHARACTERS]


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


# Differences of log-probabilities beyond this say nothing more.
MAX_LOG_DIFFERENCE = 12.0


def judged(site: Site, event: dict[str, Any]) -> Proposal | None:
    """What to propose at a site after the engine's `site` event; None: leave it as it is."""
    odds = score(WEIGHTS.judge, numbers(event["text"], event["candidates"][0], site.odds))
    return Proposal(site, probability(odds)) if odds > WEIGHTS.judged_from else None


def numbers(old: dict[str, Any], new: dict[str, Any], odds: float) -> list[float]:
    """One for each of NUMBERS: how much likelier the new text is than the old one with the edit in sight, in shares of
    MAX_LOG_DIFFERENCE. Without the edit in sight says nothing more: the texts come from it."""
    return [1.0, odds, _bounded(new["with"] - old["with"])]


NUMBERS = ("always", "odds", "with")


def _bounded(value: float) -> float:
    return max(-MAX_LOG_DIFFERENCE, min(MAX_LOG_DIFFERENCE, value)) / MAX_LOG_DIFFERENCE


# Sites that the engine judges together.
SITES_PER_REQUEST = 8
MAX_JUDGED_SITES = 32


async def proposals(
    engine: JudgingEngine | None, edit: Edit, own: Page, pages: Sequence[Page], batch: int = SITES_PER_REQUEST
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
    for start in range(0, min(len(doubtful), MAX_JUDGED_SITES), batch):
        async with aclosing(_judged(engine, edit, doubtful[start : start + batch])) as found:
            async for proposal in found:
                yield proposal


async def _judged(engine: JudgingEngine, edit: Edit, asked: Sequence[Site]) -> AsyncGenerator[Proposal]:
    async with aclosing(engine.sites(request(edit, asked))) as events:
        async for event in events:
            if proposal := judged(asked[event["site"]], event):
                yield proposal
