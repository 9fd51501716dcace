"""After `commit`, chooses the next draft again with token-pair counts: row by row, each given the token before it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.packed_rows import wide


@dataclass(frozen=True)
class Pairs:
    """Counts of token pairs, as int32 tensors on one device.

    The pairs that begin with token a are those with starts[a] <= i < starts[a + 1]. In pair i, token a is followed by
    token `after[i]`; this occurs `count[i]` times. For each a, `after` is ascending.
    """

    starts: Tensor  # [vocab + 1]
    after: Tensor  # [pairs]
    count: Tensor  # [pairs]
    alone: Tensor  # [vocab]: how often each token occurs
    total: float  # sum of `alone`, with half an occurrence more for every token
    smoothing: float  # imagined further pairs with the token before, in which tokens are as frequent as overall
    strength: float  # a probability is multiplied by lift ** strength

    def lift(self, before: int, token: Tensor, dtype: torch.dtype) -> Tensor:
        """P(token | before) / P(token), smoothed: token [top] -> [top] of this dtype."""
        pairs = slice(int(self.starts[before]), int(self.starts[before + 1]))
        together = ((self.after[pairs] == token[:, None]) * self.count[pairs]).sum(1)
        share = (self.alone[token].to(dtype) + 0.5) / self.total
        return (together / share + self.smoothing) / (self.alone[before] + self.smoothing)


def pair_choice(
    state: GapStates, result: Tensor, token: Tensor, probability: Tensor, pairs: Pairs, merged: bool
) -> None:
    """Replace the next draft and its probabilities, in `state` and in `result`, which `commit` returned.

    token int32, probability float32 [gaps * rows per gap, top]: the candidates of each row that `lay` wrote. The draft
    comes from the canvas after the last committed token. Its first row is chosen given that token, each further row
    given the choice before.
    """
    width, size = state.width, rows_per_gap(state.width, merged)
    for gap, drafted in enumerate(state.drafted.tolist()):
        if drafted <= 0:
            continue
        *_, next_draft, next_chances = result[gap].split([3 + 2 * width, width, width])
        run = int(result[gap, 0]) - 1
        start = gap * size + (1 + width + run * width if merged else 1)
        before = int(state.last[gap])
        for i in range(width):
            p = wide(probability[start + i])
            moved = p * pairs.lift(before, token[start + i], p.dtype) ** pairs.strength
            best = moved.argmax()
            before = int(token[start + i, best])
            next_draft[i] = before
            rest = (1 - p.sum()).clamp(min=0)
            next_chances[i] = (moved[best] / (moved.sum() + rest)).float().view(torch.int32)
        state.draft[gap] = next_draft
