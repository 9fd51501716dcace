"""What multiplies int8 weights on this processor, and how finely activations may be quantised for it."""

from functools import cache
from typing import Protocol

import torch
from torch import Tensor

from dlsp_kernels.int8_linear.compiled import Compiled
from dlsp_kernels.int8_linear.onednn import OneDnn
from dlsp_kernels.int8_linear.reference import int8_linear
from dlsp_kernels.program import instructions
from dlsp_kernels.quantise.reference import quantise_rows, quantise_weight

ROWS = 8


class Int8Matrix(Protocol):
    ins: int

    def __call__(self, x: Tensor) -> Tensor: ...


class Int8(Protocol):
    """`levels` as in `quantise_rows`. What `laid` gives may be kept in a file, for the same machine."""

    @property
    def name(self) -> str: ...

    @property
    def levels(self) -> int: ...

    def here(self) -> bool: ...

    def laid(self, weight: Tensor) -> Tensor: ...

    def matrix(self, laid: Tensor, scale: Tensor) -> Int8Matrix: ...


PROGRAMS = tuple(map(Compiled, instructions.ALL))
BY_ONEDNN = (OneDnn(127), OneDnn(63))
"""Processors without VNNI add two products in 16 bits: 7-bit activations are the finest that never overflow there."""


@cache
def best() -> Int8 | None:
    """None where there is no int8 matmul."""
    return next((each for each in (*PROGRAMS, *BY_ONEDNN) if works(each)), None)


def works(kind: Int8) -> bool:
    """Whether the greatest sums there can be do not overflow, found by trying; False where it cannot run at all."""
    if not kind.here():
        return False
    generator = torch.Generator().manual_seed(0)
    weight, scale = quantise_weight(_with_worst(torch.randn(64, 256, generator=generator)))
    x, _ = quantise_rows(_with_worst(torch.randn(ROWS, 256, generator=generator)), kind.levels)
    wanted = int8_linear(x, weight, scale, kind.levels)
    try:
        found = kind.matrix(kind.laid(weight), scale)(x)
    except (RuntimeError, AttributeError):
        return False
    return torch.allclose(found, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()))


def _with_worst(matrix: Tensor) -> Tensor:
    """The first row all at its greatest: the largest sums there can be."""
    matrix[0] = 1
    return matrix
