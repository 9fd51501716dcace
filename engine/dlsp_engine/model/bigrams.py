"""Bigrams: how often one token follows another in a corpus, as the pointwise mutual information of the two.

A canvas predicts its tokens independently of each other. The choice among each row's candidates also takes the mutual
information with the token before into account (`decode.draft`). This Markov correction costs next to nothing compared
to a forward pass.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

# The factor of the mutual information when it is added to a candidate's log-probability: below 1, since the canvas
# already models some of it.
STRENGTH = 0.3

# The number of imagined further occurrences of each preceding token, followed by all tokens at their overall frequency.
SMOOTHING = 100.0


@dataclass(frozen=True)
class Bigrams:
    """Counts of token pairs. The pairs that begin with token a are those with starts[a] <= i < starts[a + 1].

    In pair i, token a is followed by token `after[i]`; this occurs `count[i]` times. For each a, `after` is ascending.
    """

    starts: np.ndarray  # int32 [vocab + 1]
    after: np.ndarray  # int32 [pairs]
    count: np.ndarray  # whole numbers [pairs]
    alone: np.ndarray  # int32 [vocab]: how often each token occurs

    @classmethod
    def counted(cls, first: np.ndarray, second: np.ndarray, vocab: int, most: int) -> "Bigrams":
        """Count the pairs (first[i], second[i]) of a corpus, and keep the `most` frequent ones."""
        alone = np.bincount(first, minlength=vocab)
        pairs, counts = np.unique(first.astype(np.int64) * vocab + second, return_counts=True)
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        pairs, counts = pairs[kept], counts[kept]
        starts = np.searchsorted(pairs // vocab, np.arange(vocab + 1)).astype(np.int32)
        return cls(starts, *(values.astype(np.int32) for values in (pairs % vocab, counts, alone)))

    def information(self, before: int, tokens: np.ndarray) -> np.ndarray:
        """log(P(token | before) / P(token)) of each of `tokens`, smoothed: float64 [tokens], in nats."""
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

    def tensors(self) -> dict[str, Tensor]:
        """The counts as tensors of an adapter file, by name."""
        arrays = {"starts": self.starts, "after": self.after, "count": self.count, "alone": self.alone}
        return {f"bigrams.{name}": torch.from_numpy(array) for name, array in arrays.items()}

    @classmethod
    def of(cls, tensors: dict[str, Tensor]) -> "Bigrams | None":
        """The bigrams among an adapter file's tensors; None if the file has none."""
        if "bigrams.after" not in tensors:
            return None
        return cls(*(tensors[f"bigrams.{name}"].numpy() for name in ("starts", "after", "count", "alone")))
