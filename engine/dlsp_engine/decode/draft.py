"""What is proposed for verification: a run of tokens, and beside each what may stand in its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import NamedTuple

Guess = tuple[list[int], list[float]]
"""Tokens, and each one's probability to stand if those before it do."""


class Node(NamedTuple):
    """A token that may be verified: the draft's own at `offset`, or an alternative to it."""

    probability: float  # to stand, and all before it
    offset: int
    token: int
    alternative: bool


@dataclass(frozen=True)
class Draft:
    """`confidence` is the probability of each token to stand if those before it do; `alternatives` has, place by place,
    some other tokens with theirs. An alternative is the end of a run: nothing is drafted behind it.
    """

    tokens: list[int]
    confidence: list[float]
    alternatives: Sequence[Sequence[tuple[int, float]]] = ()
    canvas: bool = False  # whether its fate says something about later canvases

    @property
    def run(self) -> float:
        """How many of `tokens` are expected to stand."""
        return sum(accumulate(self.confidence, mul))

    def nodes(self, alternatives: bool = True) -> list[Node]:
        """The likeliest first, so that those before a token in the run are before it here, too; all of the draft, or
        its own tokens alone.
        """
        reached = list(accumulate([1.0, *self.confidence], lambda before, sure: before * min(1.0, sure)))
        own = [Node(reached[at + 1], at, token, False) for at, token in enumerate(self.tokens)]
        beside = [
            Node(reached[at] * sure, at, token, True)
            for at, others in enumerate(self.alternatives if alternatives else ())
            for token, sure in others
        ]
        return sorted([*own, *beside], key=lambda node: (-node.probability, node.alternative, node.offset))


NONE = Draft([], [])
