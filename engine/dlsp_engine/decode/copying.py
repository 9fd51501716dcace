"""The free drafter: text that repeats (prompt look-up, arXiv 2304.04487), by the longest match."""

import numpy as np

from dlsp_engine.decode.draft import Guess
from dlsp_engine.decode.repeats import followers

LEAST, REACH = 2, 16
"""So many of the last tokens are looked for: what followed one alone seldom follows again."""

LONGEST = 16

SINCE = 2
"""Tokens that each agreement since the match counts for: it shows that the match was none by chance."""


class Copier:
    """Proposes what followed where most of the last tokens stood before, last time: in prompt, suffix or answer."""

    def __init__(self, stops: frozenset[int]) -> None:
        self._stops = stops
        self._text = np.empty(0, np.int64)

    def __call__(self, tokens: list[int]) -> Guess:
        """`tokens` grows from call to call."""
        self._text = np.append(self._text, np.array(tokens[len(self._text) :], np.int64))
        matches = list(followers(self._text, tokens[-REACH:]))
        if len(matches) < LEAST:
            return [], []
        start = int(matches[-1][-1])
        copied = tokens[start : start + LONGEST]
        stop = next((i for i, token in enumerate(copied) if token in self._stops), len(copied))
        return copied[:stop], [stands(len(matches) + SINCE * i) for i in range(stop)]


def stands(agreed: int) -> float:
    """How likely a token is to follow so many others again: 0.53 after two, 0.69 after four, 0.90 after sixteen.

    Fitted on the model's answers in 148 gaps of held-out packages, where copying comes to be asked: 0.51, 0.59, 0.95.
    """
    return agreed / (agreed + 1.8)
