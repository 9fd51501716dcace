"""Which of a canvas's likeliest tokens are drafted: one after the other, each by the tokens before it.

A canvas is denoised in one forward, so its rows know neither each other's choices nor the token that the base has just
chosen in front of them. Two things say some of it at next to no cost: how often one token follows another in a corpus
(`model.bigrams`), and what has followed the same tokens in the text before (a cache model: Kuhn and De Mori 1990,
"A cache-based natural language model for speech recognition"; with matches of several lengths, as prompt look-up has
them, arXiv 2304.04487). Neither adds a token: both only move what the canvas itself finds likely.
"""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from dlsp_engine.decode.draft import Draft
from dlsp_engine.decode.repeats import followers
from dlsp_engine.model.bigrams import STRENGTH, Bigrams

TOP = 64
"""Candidates of a row."""

TILE = 128
"""Tokens whose largest logit is looked at first."""

FOLLOWED = 1.5
"""A candidate's log-probability rises by so much for each of the last tokens that it has followed before."""

REACH = 6
"""So many of the last tokens are looked for."""

SHARPNESS = 0.65
"""A canvas is surer of itself than it is right; to this power its probabilities match how often drafts stand."""

ALTERNATIVES, LEAST = 3, 0.02
"""At most so many others of a row's candidates are told, of at least such a probability."""


def guess(logits: Tensor, known: Sequence[int], bigrams: Bigrams | None = None) -> Draft:
    """logits [rows, vocab] of a canvas, and all tokens before what its first row drafts."""
    log_p, candidates = top(logits.log_softmax(-1), min(TOP, logits.shape[1]))
    return choose(log_p.cpu().numpy(), candidates.cpu().numpy(), known, bigrams)


def top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """`values.topk(count)` of [rows, n], in a third of the time where n is large: the tiles with the largest maxima
    hold them all.
    """
    rows, n = values.shape
    if n % TILE or n // TILE < count:
        best, at = values.topk(count)
        return best, at
    tiles = values.view(rows, -1, TILE)
    taken = tiles.amax(-1).topk(count).indices
    best, at = tiles.gather(1, taken[:, :, None].expand(-1, -1, TILE)).flatten(1).topk(count)
    return best, taken.gather(1, at // TILE) * TILE + at % TILE


def choose(
    log_p: np.ndarray,
    candidates: np.ndarray,
    known: Sequence[int] | np.ndarray,
    bigrams: Bigrams | None = None,
    given: Sequence[int] = (),
) -> Draft:
    """log_p and candidates [rows, TOP] -> each row's choice by the tokens before it: of `known`, then of `given` as far
    as that goes, then the choice of the row before.
    """
    text = np.asarray(known)
    last = text[-REACH:].tolist()
    draft: list[int] = []
    probability: list[float] = []
    alternatives: list[list[tuple[int, float]]] = []
    for row, (sure, tokens) in enumerate(zip(log_p, candidates, strict=True)):
        moved = sure + FOLLOWED * followed(text, last, tokens)
        if bigrams:
            moved += STRENGTH * bigrams.information(last[-1], tokens)
        moved = np.exp(SHARPNESS * moved)
        moved /= moved.sum() + max(0.0, 1.0 - float(np.exp(sure).sum()))
        best, *others = np.argsort(-moved, kind="stable")[: 1 + ALTERNATIVES].tolist()
        draft.append(int(tokens[best]))
        probability.append(float(moved[best]))
        alternatives.append([(int(tokens[at]), float(moved[at])) for at in others if moved[at] >= LEAST])
        last = [*last[1 - REACH :], given[row] if row < len(given) else draft[-1]]
    return Draft(draft, probability, alternatives, canvas=True)


def followed(text: np.ndarray, last: Sequence[int], tokens: np.ndarray) -> np.ndarray:
    """How many of the `last` tokens, counted from the end, stand somewhere in `text` right before each of `tokens`."""
    return sum((np.isin(tokens, text[at]).astype(float) for at in followers(text, last)), np.zeros(len(tokens)))
