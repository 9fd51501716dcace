"""The free drafter: text that repeats (prompt look-up, arXiv 2304.04487), by the longest match."""

import numpy as np

from dlsp_engine.decode.guess import Guess
from dlsp_engine.decode.repeats import followers

REACH = 16
"""So many of the last tokens are looked for at most."""

LONGEST = 16


class Copier:
    """Proposes what followed where most of the last tokens stood before, last time: in prompt, suffix or answer."""

    def __init__(self, stops: frozenset[int]) -> None:
        self._stops = stops
        self._text = np.empty(0, np.int64)

    def __call__(self, tokens: list[int]) -> Guess:
        """`tokens` grows from call to call."""
        self._text = np.append(self._text, np.array(tokens[len(self._text) :], np.int64))
        matches = list(followers(self._text, tokens[-REACH:]))
        if not matches:
            return [], []
        start = int(matches[-1][-1])
        copied = tokens[start : start + LONGEST]
        stop = next((i for i, token in enumerate(copied) if token in self._stops), len(copied))
        return copied[:stop], [stands(len(matches) + i) for i in range(stop)]


def stands(agreed: int) -> float:
    """How likely a token is to follow so many others again: 0.33 after one, 0.80 after four, 0.97 after sixteen.

    Fitted on the model's answers in 148 gaps of held-out packages: 0.36, 0.76, 0.97.
    """
    return agreed**1.5 / (agreed**1.5 + 2)
