"""Which of a canvas's likeliest tokens are drafted: one after the other, each by the token before it.

A canvas is denoised in one forward, so its rows know neither each other's choices nor the token that the base has just
chosen in front of them. How often one token follows another in a corpus says some of it: a row's candidates are moved
by a part of their pointwise mutual information with the token before, a Markov correction that costs next to nothing
beside a forward.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from dlsp_kernels.pair_choice.reference import Pairs

TOP = 16
"""Candidates of a row."""

STRENGTH = 0.4
"""The part of the information that is believed: the canvas knows some of it already."""

SMOOTHING = 100.0
"""So many occurrences of the token before are imagined, followed by tokens as common as they are anywhere."""

Guess = tuple[list[int], list[float]]
"""A draft, and each token's probability to stand if those before it do."""


def likeliest(logits: Tensor) -> Guess:
    """Each row for itself. Probabilities are what they say: they match how often drafts stand."""
    best, tokens = logits.max(-1)
    return tokens.tolist(), (best - logits.logsumexp(-1)).exp().tolist()


@dataclass(frozen=True)
class Bigrams:
    """Pairs of tokens in a corpus: `after[starts[a] : starts[a + 1]]`, ascending, follow token a `count` times."""

    starts: np.ndarray  # int32 [vocab + 1]
    after: np.ndarray  # int32 [pairs]
    count: np.ndarray  # whole numbers [pairs]
    alone: np.ndarray  # int32 [vocab]: how often each token occurs

    @classmethod
    def counted(cls, first: np.ndarray, second: np.ndarray, vocab: int, most: int) -> "Bigrams":
        """From a corpus's pairs; the `most` frequent are kept."""
        alone = np.bincount(first, minlength=vocab)
        pairs, counts = np.unique(first.astype(np.int64) * vocab + second, return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        pairs, counts = pairs[kept], counts[kept]
        starts = np.searchsorted(pairs // vocab, np.arange(vocab + 1)).astype(np.int32)
        return cls(starts, *(values.astype(np.int32) for values in (pairs % vocab, counts, alone)))

    def __call__(self, logits: Tensor, before: int) -> Guess:
        """logits [rows, vocab] of a canvas; `before` is the token before what its first row drafts."""
        best, candidates = logits.topk(min(TOP, logits.shape[1]))
        return self.choose(
            (best - logits.logsumexp(-1, keepdim=True)).cpu().numpy(), candidates.cpu().numpy(), [before]
        )

    def choose(self, log_p: np.ndarray, candidates: np.ndarray, before: Sequence[int]) -> Guess:
        """log_p and candidates [rows, TOP] -> each row's choice by the token before it: of `before` as far as that
        goes, then the choice of the row before.
        """
        draft: list[int] = []
        probability: list[float] = []
        for row, (sure, tokens) in enumerate(zip(log_p, candidates, strict=True)):
            known = before[row] if row < len(before) else draft[-1]
            moved = np.exp(sure + STRENGTH * self.information(known, tokens))
            rest = max(0.0, 1.0 - float(np.exp(sure).sum()))
            best = int(moved.argmax())
            draft.append(int(tokens[best]))
            probability.append(float(moved[best] / (moved.sum() + rest)))
        return draft, probability

    def information(self, before: int, tokens: np.ndarray) -> np.ndarray:
        """log of P(token | before) / P(token), smoothed."""
        known = slice(self.starts[before], self.starts[before + 1])
        after, count = self.after[known], self.count[known]
        at = np.searchsorted(after, tokens)
        found = at < len(after)
        found[found] = after[at[found]] == tokens[found]
        together = np.zeros(len(tokens))
        together[found] = count[at[found]]
        share = (self.alone[tokens] + 0.5) / self._total
        return np.log((together / share + SMOOTHING) / (self.alone[before] + SMOOTHING))

    @cached_property
    def _total(self) -> float:
        return int(self.alone.sum()) + 0.5 * len(self.alone)

    def on(self, device: torch.device) -> Pairs:
        """As the device loop reads them."""
        arrays = (self.starts, self.after, self.count, self.alone)
        tables = (torch.from_numpy(array.astype(np.int32)).to(device) for array in arrays)
        return Pairs(*tables, total=self._total, smoothing=SMOOTHING, strength=STRENGTH)

    def tensors(self) -> dict[str, Tensor]:
        """As an adapter's file holds them."""
        arrays = {"starts": self.starts, "after": self.after, "count": self.count, "alone": self.alone}
        return {f"bigrams.{name}": torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def of(cls, tensors: dict[str, Tensor]) -> "Bigrams | None":
        """From what `tensors` gave, among others; None where there are none."""
        if "bigrams.after" not in tensors:
            return None
        return cls(*(tensors[f"bigrams.{name}"].numpy() for name in ("starts", "after", "count", "alone")))
