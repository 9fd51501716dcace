"""After `commit`: the next draft is chosen again by pairs of tokens, row after row, each by the token before it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.packed_rows import wide


@dataclass(frozen=True)
class Pairs:
    """int32 tensors on one device: `after[starts[a] : starts[a + 1]]`, ascending, follow token a `count` times."""

    starts: Tensor  # [vocab + 1]
    after: Tensor  # [pairs]
    count: Tensor  # [pairs]
    alone: Tensor  # [vocab]: how often each token occurs
    total: float  # of `alone`, half an occurrence more for every token
    smoothing: float  # so many more occurrences of the token before, followed by tokens as common as anywhere
    strength: float  # the power of `lift` that a probability is multiplied by

    def lift(self, before: int, token: Tensor, dtype: torch.dtype) -> Tensor:
        """token [top] -> dtype [top]: P(token | before) / P(token), smoothed."""
        known = slice(int(self.starts[before]), int(self.starts[before + 1]))
        together = ((self.after[known] == token[:, None]) * self.count[known]).sum(1)
        share = (self.alone[token].to(dtype) + 0.5) / self.total
        return (together / share + self.smoothing) / (self.alone[before] + self.smoothing)


def pair_choice(state: GapStates, told: Tensor, token: Tensor, probability: Tensor, pairs: Pairs, merged: bool) -> None:
    """token int32, probability float32 [gaps * rows a gap, top]: the candidates of each row that `lay` laid.

    The canvas that goes on from what was committed drafts anew, and its first row by the token committed last: its
    tokens and their probabilities are written over those in `state` and in `told`, which `commit` gave.
    """
    width, size = state.width, rows_per_gap(state.width, merged)
    for gap, drafted in enumerate(state.drafted.tolist()):
        if drafted <= 0:
            continue
        *_, guess, guess_sure = told[gap].split([3 + 2 * width, width, width])
        run = int(told[gap, 0]) - 1
        start = gap * size + (1 + width + run * width if merged else 1)
        before = int(state.last[gap])
        for i in range(width):
            p = wide(probability[start + i])
            moved = p * pairs.lift(before, token[start + i], p.dtype) ** pairs.strength
            best = moved.argmax()
            before = int(token[start + i, best])
            guess[i] = before
            rest = (1 - p.sum()).clamp(min=0)
            guess_sure[i] = (moved[best] / (moved.sum() + rest)).float().view(torch.int32)
        state.draft[gap] = guess
