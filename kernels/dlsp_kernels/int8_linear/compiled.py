"""`int8_linear` by a program of ours (`source`).

Sums are whole numbers: a row has the same bits whatever comes beside it, and on any number of threads.
"""

from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.int8_linear.source import NUMBERS, POINTERS, block_size, fours_at_once, source
from dlsp_kernels.program.capture import contiguous, empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.instructions import Fours, Instructions


@dataclass(frozen=True)
class Compiled:
    """Matrices for a processor with these instructions."""

    kind: Instructions

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def levels(self) -> int:
        return self.kind.levels

    def here(self) -> bool:
        return self.kind.here()

    def laid(self, weight: Tensor) -> Tensor:
        """int8 [out, in] -> [blocks, fours, block, 4], filled up with zeros. ValueError: the inputs make no fours."""
        (outs, ins), block = weight.shape, block_size(self.kind)
        if ins % 4:
            raise ValueError(f"the inputs come in fours, not {ins}")
        padded = F.pad(weight, (0, 0, 0, -outs % block))
        return padded.view(-1, block, ins // 4, 4).transpose(1, 2).contiguous()

    def matrix(self, laid: Tensor, scale: Tensor) -> "CompiledMatrix":
        """`laid` is read where it lies, `scale` is float32 [out]."""
        run = _program(self.kind, fours_at_once(self.kind, laid.shape[1]))
        return CompiledMatrix(run, laid, scale, 0 if self.kind.fours == Fours.SIGNED else self.levels + 1)


class CompiledMatrix:
    def __init__(self, run: Program, laid: Tensor, scale: Tensor, zero: int) -> None:
        """`zero` is what the program takes 0 in x for."""
        self.laid, self.scale = laid, scale
        blocks, fours, block, _ = laid.shape
        self.ins, self._run, self._blocks, self._sizes = 4 * fours, run, blocks, (fours, len(scale))
        self._correction, self._factor = torch.zeros(blocks * block, dtype=torch.int32), torch.ones(blocks * block)
        sums = self(torch.ones(1, 4 * fours, dtype=torch.uint8))[0]  # of each output's weights; exact where used
        self._correction[: len(scale)] = zero * sums.int()
        self._factor[: len(scale)] = scale

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        x, out = contiguous(x), empty(len(x), len(self.scale))
        if len(x):
            self._run(self.laid, self._correction, self._factor, x, out, *self._sizes, len(x), items=self._blocks)
        return out


@cache
def _program(kind: Instructions, at_once: int) -> Program:
    return compiled(source(kind, at_once), POINTERS, NUMBERS, kind)
