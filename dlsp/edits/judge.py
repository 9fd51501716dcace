"""How the model's numbers weigh with what the edit teaches: *no edit* is an answer like any other."""

from typing import Any

from dlsp.edits.evidence import score
from dlsp.edits.proposal import Proposal, probability
from dlsp.edits.site import Site
from dlsp.edits.weights import WEIGHTS

MOST = 12.0
"""Differences of log-probabilities beyond this say nothing more."""


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
