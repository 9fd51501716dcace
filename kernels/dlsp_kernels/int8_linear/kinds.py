"""The ways to multiply int8 matrices on this processor, and how finely each one lets activations be quantised."""

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
    """An int8 matrix: x uint8 [rows, ins] -> float32 [rows, outs], not yet multiplied by the scales of x's rows."""

    ins: int

    def __call__(self, x: Tensor) -> Tensor: ...

    def first(self, outs: int, /) -> "Int8Matrix":
        """The same matrix with at least its first `outs` outputs. Its weights are not copied."""
        ...


class Int8(Protocol):
    """A way to multiply int8 matrices.

    - `name`: identifies it
    - `levels`: of activations, as in `quantise_rows`
    - `here()`: whether it can run on this machine
    - `pack(weight)`: pack int8 [out, in]. The result may be kept in a file for the same machine.
    - `matrix(packed, scale)`: the matrix of such packed weights, with scale float32 [out]
    """

    @property
    def name(self) -> str: ...

    @property
    def levels(self) -> int: ...

    def here(self) -> bool: ...

    def pack(self, weight: Tensor) -> Tensor: ...

    def matrix(self, packed: Tensor, scale: Tensor) -> Int8Matrix: ...


PROGRAMS = tuple(map(Compiled, instructions.ALL))
BY_ONEDNN = (OneDnn(127), OneDnn(63))
"""oneDNN with 8-bit and with 7-bit activations. Processors without VNNI add two products in 16 bits; with activations
of 7 bits this cannot overflow.
"""


@cache
def best() -> Int8 | None:
    """The first way that works on this machine, our own kernels first. None if there is none."""
    return next((each for each in (*PROGRAMS, *BY_ONEDNN) if works(each)), None)


def works(kind: Int8) -> bool:
    """Whether it can run here, and its largest possible sums do not overflow. Found by trying."""
    if not kind.here():
        return False
    generator = torch.Generator().manual_seed(0)
    weight, scale = quantise_weight(_with_worst(torch.randn(64, 256, generator=generator)))
    x, _ = quantise_rows(_with_worst(torch.randn(ROWS, 256, generator=generator)), kind.levels)
    wanted = int8_linear(x, weight, scale, kind.levels)
    try:
        found = kind.matrix(kind.pack(weight), scale)(x)
    except (RuntimeError, AttributeError):
        return False
    return torch.allclose(found, wanted, rtol=1e-4, atol=1e-4 * float(wanted.abs().max()))


def _with_worst(matrix: Tensor) -> Tensor:
    """`matrix` with its first row set to 1, in place: all its values are quantised to the maximum, which gives the
    largest possible sums.
    """
    matrix[0] = 1
    return matrix
