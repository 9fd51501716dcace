"""The proposals for an edit, as they become known: what it teaches by itself, judged by the model."""

from collections.abc import AsyncGenerator, Sequence

from dlsp.edits.edit import Edit
from dlsp.edits.page import Page
from dlsp.edits.proposal import Proposal, learned
from dlsp.engine.client import Engine


async def proposals(
    engine: Engine | None, edit: Edit, own: Page, pages: Sequence[Page], mode: str
) -> AsyncGenerator[Proposal]:
    """Without an engine only what the edit teaches by itself."""
    for proposal in learned(edit, own, pages):
        yield proposal
