"""`low_rank_add` by a native kernel, compiled from the LLVM IR that `source` writes."""

from functools import cache, lru_cache
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.low_rank_add.source import NUMBERS, POINTERS, block_size, source
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import ALONE
from dlsp_kernels.program.instructions import Instructions


class CompiledLowRankAdd:
    """The low-rank update of one projection. Call it to add the update to some rows of y, in place."""

    def __init__(self, ends: list[int], b: Tensor, b_scale: Tensor, column: int, kind: Instructions) -> None:
        """For the arguments see `low_rank_add`."""
        self._run, size, rank = _program(kind), block_size(kind), len(b)
        weights, scales, blocks = [], [], []
        for part, (start, end) in enumerate(pairwise([0, *ends])):
            more = -(end - start) % size
            weights.append(F.pad(b[:, start:end], (0, more)).view(rank, -1, size).transpose(0, 1))
            scales.append(F.pad(b_scale[start:end], (0, more)).view(-1, size))
            given = column + part * rank
            blocks += [[first, min(size, end - first), given] for first in range(start, end, size)]
        self._kept = torch.cat(weights), torch.cat(scales), torch.tensor(blocks)
        self._rank = rank

    def __call__(self, y: Tensor, updated: slice | Tensor) -> None:
        rows = _between(updated.start, updated.stop) if isinstance(updated, slice) else updated
        blocks, numbers = len(self._kept[0]), (y.stride(0), self._rank, len(rows))
        if len(rows):
            self._run(y, *self._kept, rows, *numbers, items=blocks, alone=blocks if len(rows) <= ALONE else 0)


@lru_cache(256)
def _between(start: int, stop: int) -> Tensor:
    return torch.arange(start, stop)


@cache
def _program(kind: Instructions) -> Program:
    return compiled(source(kind), POINTERS, NUMBERS, kind)
