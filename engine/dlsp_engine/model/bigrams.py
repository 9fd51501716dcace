"""How often one token follows another in a corpus, as the pointwise mutual information of the two.

By a part of it the candidates of a canvas's rows are moved (`decode.draft`; on a GPU `pair_choice`): a Markov
correction that costs next to nothing beside a forward.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from dlsp_kernels.pair_choice.reference import Pairs

STRENGTH = 0.3
"""The part of the information that is believed: the canvas knows some of it already."""

SMOOTHING = 100.0
"""So many occurrences of the token before are imagined, followed by tokens as common as they are anywhere."""


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
