"""What is proposed at the sites of an edit, and how sure that is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dlsp.edits.edit import Edit
from dlsp.edits.hunks import Hunk
from dlsp.edits.page import Page
from dlsp.edits.site import Site
from dlsp.edits.sites import sites
from dlsp.edits.weights import WEIGHTS


@dataclass(frozen=True)
class Proposal:
    """A site to be shown; `confidence` is how likely its lines are exactly right, from 0 to 1."""

    site: Site
    confidence: float

    @property
    def hunk(self) -> Hunk:
        return self.site.hunk


def learned(edit: Edit, own: Page, pages: Sequence[Page]) -> list[Proposal]:
    """What the edit itself teaches, without a model: the sites that are sure enough."""
    found = (site for site in sites(edit, own, pages) if site.odds > WEIGHTS.learned_from)
    return [Proposal(site, probability(site.odds)) for site in found]


def probability(odds: float) -> float:
    """From the logarithm of the odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
