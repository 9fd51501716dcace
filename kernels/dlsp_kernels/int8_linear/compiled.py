"""`int8_linear` by a native kernel, compiled from the LLVM IR that `source` writes.

Its sums are integers. So a row has the same result, to the bit, on any number of threads and whatever rows come with
it.
"""

from copy import copy
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
    """Int8 matrices for processors with the instructions `kind`; an `Int8`."""

    kind: Instructions

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def levels(self) -> int:
        return self.kind.levels

    def here(self) -> bool:
        return self.kind.here()

    def pack(self, weight: Tensor) -> Tensor:
        """Pack int8 [out, in] to [blocks, fours, block, 4] (layout: see `source`). Outputs are padded with zeros.

        Raises ValueError if the number of inputs is not a multiple of 4.
        """
        (outs, ins), block = weight.shape, block_size(self.kind)
        if ins % 4:
            raise ValueError(f"the inputs come in fours, not {ins}")
        padded = F.pad(weight, (0, 0, 0, -outs % block))
        return padded.view(-1, block, ins // 4, 4).transpose(1, 2).contiguous()

    def matrix(self, packed: Tensor, scale: Tensor) -> "CompiledMatrix":
        """The matrix with the packed weights `packed`, which are not copied, and with scale float32 [out].

        Raises ValueError if they are no packed int8 weights of so many outputs.
        """
        block = block_size(self.kind)
        right = packed.dim() == 4 and packed.shape == (-(-len(scale) // block), packed.shape[1], block, 4)
        if not right or packed.dtype != torch.int8 or scale.dtype != torch.float32 or not packed.is_contiguous():
            raise ValueError(f"{packed.dtype} {list(packed.shape)} is not a packed matrix of {len(scale)} outputs")
        run = _program(self.kind, fours_at_once(self.kind, packed.shape[1]))
        return CompiledMatrix(run, packed, scale, 0 if self.kind.fours == Fours.SIGNED else self.levels + 1)


class CompiledMatrix:
    """An int8 matrix; call it to multiply rows of activations by it."""

    def __init__(self, run: Program, packed: Tensor, scale: Tensor, zero: int) -> None:
        """`packed`: packed weights [blocks, fours, block, 4]. `scale`: float32 [out]. `zero`: zero point of the uint8
        activations, or 0 if the kernel itself subtracts it.
        """
        self.packed, self.scale = packed, scale
        blocks, fours, block, _ = packed.shape
        self.ins, self._run, self._blocks, self._sizes = 4 * fours, run, blocks, (fours, len(scale))
        self._correction, self._factor = torch.zeros(blocks * block, dtype=torch.int32), torch.ones(blocks * block)
        # The sum of each output's weights: wrong where the kernel subtracts 128 from x, but `zero` is 0 there.
        sums = self(torch.ones(1, 4 * fours, dtype=torch.uint8))[0]
        self._correction[: len(scale)] = zero * sums.int()
        self._factor[: len(scale)] = scale

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], not yet multiplied by the scales of x's rows."""
        x, out = contiguous(x), empty(len(x), len(self.scale))
        if len(x):
            self._run(self.packed, self._correction, self._factor, x, out, *self._sizes, len(x), items=self._blocks)
        return out

    def first(self, outs: int) -> "CompiledMatrix":
        """The same matrix with its first `outs` outputs only; nothing is copied."""
        twin, blocks = copy(self), -(-outs // self.packed.shape[2])
        twin.packed, twin.scale = self.packed[:blocks], self.scale[:outs]
        twin._blocks, twin._sizes = blocks, (self._sizes[0], outs)
        return twin


@cache
def _program(kind: Instructions, at_once: int) -> Program:
    return compiled(source(kind, at_once), POINTERS, NUMBERS, kind)
