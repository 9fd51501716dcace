"""Which library multiplies int8 weights on this processor, and how finely activations may be quantised for it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Protocol, Self

import torch
from torch import Tensor

from dlsp_kernels.int8_linear.fbgemm import Fbgemm
from dlsp_kernels.int8_linear.onednn import OneDnn
from dlsp_kernels.int8_linear.reference import int8_linear
from dlsp_kernels.quantise.reference import quantise_rows, quantise_weight

ROWS = 8


class PackedInt8(Protocol):
    """One weight matrix, as a library wants it."""

    scale: Tensor

    @classmethod
    def pack(cls, weight: Tensor, scale: Tensor, levels: int) -> Self: ...

    @classmethod
    def reader(cls, outs: int, ins: int, levels: int) -> Callable[[Tensor, Tensor], Self]: ...

    @property
    def stored(self) -> Tensor: ...

    def __call__(self, x: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class Int8:
    """`levels` as in `quantise_rows`."""

    library: type[PackedInt8]
    levels: int

    @property
    def name(self) -> str:
        return self.library.__name__

    def pack(self, weight: Tensor, scale: Tensor) -> PackedInt8:
        """weight int8 [out, in], scale float32 [out]; the weight is not kept."""
        return self.library.pack(weight, scale, self.levels)

    def reader(self, outs: int, ins: int) -> Callable[[Tensor, Tensor], PackedInt8]:
        """Makes matrices of this shape from what their `stored` and scales gave, on the machine that stored it."""
        return self.library.reader(outs, ins, self.levels)

    def exact(self) -> bool:
        """Whether the greatest sums there can be do not overflow, found by trying; False where it cannot run at all."""
        generator = torch.Generator().manual_seed(0)
        weight, scale = quantise_weight(_with_worst(torch.randn(64, 256, generator=generator)))
        x, _ = quantise_rows(_with_worst(torch.randn(ROWS, 256, generator=generator)), self.levels)
        wanted = int8_linear(x, weight, scale, self.levels)
        try:
            found = self.pack(weight, scale)(x)
        except (RuntimeError, AttributeError):
            return False
        return torch.allclose(found, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()))


BY_PREFERENCE = (Int8(OneDnn, 127), Int8(Fbgemm, 63), Int8(OneDnn, 63))
"""Processors without VNNI add two products in 16 bits: 7-bit activations are the finest that never overflow there."""


@cache
def best() -> Int8 | None:
    """None where this build of PyTorch has no int8 matmul."""
    return next((each for each in BY_PREFERENCE if each.exact()), None)


def _with_worst(matrix: Tensor) -> Tensor:
    """The first row all at its greatest: the largest sums there can be."""
    matrix[0] = 1
    return matrix
