"""What is proposed at the sites of an edit, and how sure that is."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dlsp.edits.edit import Edit
from dlsp.edits.page import Page
from dlsp.edits.sites import Site, substituted
from dlsp.edits.weights import WEIGHTS

MOST_OFFERED = 200


@dataclass(frozen=True)
class Proposal:
    """`confidence` is how likely the site's hunk is exactly right, from 0 to 1."""

    site: Site
    confidence: float


def learned(edit: Edit, own: Page, pages: Sequence[Page]) -> Iterator[Proposal]:
    """What the edit itself teaches, without a model: the sites that are sure enough."""
    for site in substituted(edit, own, pages):
        if site.odds > WEIGHTS.learned_from:
            yield Proposal(site, probability(site.odds))


def probability(odds: float) -> float:
    """From the logarithm of the odds."""
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))
