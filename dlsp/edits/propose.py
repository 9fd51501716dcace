"""The proposals for an edit, as they become known: what it teaches by itself, judged by the model."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from dlsp.edits import prompt
from dlsp.edits.edit import Edit
from dlsp.edits.judge import judged
from dlsp.edits.page import Page
from dlsp.edits.proposal import Proposal, learned, probability
from dlsp.edits.site import Site
from dlsp.edits.sites import sites
from dlsp.edits.weights import WEIGHTS
from dlsp.engine.client import Engine

BATCH = 8
"""Sites that the engine judges together."""
MOST_JUDGED = 32


async def proposals(
    engine: Engine | None, edit: Edit, own: Page, pages: Sequence[Page], batch: int = BATCH
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
        if site.odds > WEIGHTS.sure_from or not site.old:
            yield Proposal(site, probability(site.odds))
        elif site.odds > WEIGHTS.asked_from:
            doubtful.append(site)
    for start in range(0, min(len(doubtful), MOST_JUDGED), batch):
        async with aclosing(_judged(engine, edit, doubtful[start : start + batch])) as found:
            async for proposal in found:
                yield proposal


async def _judged(engine: Engine, edit: Edit, asked: Sequence[Site]) -> AsyncGenerator[Proposal]:
    async with aclosing(engine.sites(prompt.request(edit, asked))) as events:
        async for event in events:
            if proposal := judged(asked[event["site"]], event):
                yield proposal
