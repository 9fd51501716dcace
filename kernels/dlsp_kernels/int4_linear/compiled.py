"""`int4_linear` by a native kernel, compiled from the LLVM IR that `source` writes. Its sums are integers, as those of
`int8_linear`.
"""

from copy import copy
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.int4_linear.reference import GROUP, FourBits
from dlsp_kernels.int4_linear.source import GROUP_BYTES, NUMBERS, POINTERS, rows_by_codes, source
from dlsp_kernels.int8_linear.source import block_size
from dlsp_kernels.program.capture import contiguous, empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import workers
from dlsp_kernels.program.instructions import Fours, Instructions


def pack(weight: FourBits, kind: Instructions) -> Tensor:
    """Pack the codes, steps and minima: uint8 [blocks, groups, GROUP_BYTES * block] (layout: see `source`). Outputs are
    padded with zeros.

    Raises ValueError if the number of inputs is not a multiple of GROUP.
    """
    (outs, ins), block = weight.codes.shape, block_size(kind)
    if ins % GROUP:
        raise ValueError(f"the inputs come in groups of {GROUP}, not {ins}")

    def blocks(part: Tensor) -> Tensor:
        """[out, n] -> [blocks, block, n]"""
        return F.pad(part, (0, 0, 0, -outs % block)).unflatten(0, (-1, block))

    low, high = blocks(weight.codes).unflatten(2, (ins // GROUP, GROUP // 8, 2, 4)).unbind(4)
    codes = (low | high << 4).permute(0, 2, 3, 1, 4).flatten(2)
    step, minimum = (blocks(part.view(torch.uint8)).transpose(1, 2) for part in (weight.step, weight.minimum))
    return torch.cat([codes, step, minimum], 2)


class CompiledMatrix:
    """A matrix of 4-bit codes; call it to multiply rows of activations by it."""

    def __init__(self, packed: Tensor, scale: Tensor, kind: Instructions) -> None:
        """`packed`: codes as `pack` packs them, which are not copied. `scale`: float32 [out].

        Raises ValueError if `packed` was packed for another number of outputs or other instructions.
        """
        self.packed, self.scale = packed, scale
        self._most, self._block = rows_by_codes(kind), block_size(kind)
        blocks, groups, size = packed.shape
        if (blocks, size) != (-(-len(scale) // self._block), GROUP_BYTES * self._block):
            raise ValueError("codes of another matrix")
        self.ins, self._run, self._blocks, self._sizes = GROUP * groups, _program(kind), blocks, (groups, len(scale))
        self._correction = torch.zeros(blocks * self._block, dtype=torch.int32)
        self._factor = torch.ones(blocks * self._block)
        # The sum of each output's weights: wrong where the kernel subtracts 128 from x, but `zero` is 0 there.
        zero = 0 if kind.fours == Fours.SIGNED else kind.levels + 1
        sums = self(torch.ones(1, self.ins, dtype=torch.uint8))[0]
        self._correction[: len(scale)] = zero * sums.int()
        self._factor[: len(scale)] = scale

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], not yet multiplied by the scales of x's rows."""
        x, out = contiguous(x), empty(len(x), len(self.scale))
        expanded = empty(workers(), self.ins * self._block, dtype=torch.int8) if len(x) > self._most else out
        if len(x):
            given = self.packed, self._correction, self._factor, x, out, expanded
            self._run(*given, *self._sizes, len(x), items=self._blocks)
        return out

    def first(self, outs: int) -> "CompiledMatrix":
        """The same matrix with its first `outs` outputs only; nothing is copied."""
        twin, blocks = copy(self), -(-outs // self._block)
        twin.packed, twin.scale = self.packed[:blocks], self.scale[:outs]
        twin._blocks, twin._sizes = blocks, (self._sizes[0], outs)
        return twin


@cache
def _program(kind: Instructions) -> Program:
    return compiled(source(kind), POINTERS, NUMBERS, kind)
