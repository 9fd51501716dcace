"""`int8_linear` by oneDNN: weights packed once; up to some ten rows as fast as memory gives the weights."""

from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.int8_linear.reference import int8_linear
from dlsp_kernels.quantise.reference import quantise_rows, quantise_weight

WIDTH = 8
"""Rows that the packed layout is chosen for; any number may come."""


class PackedInt8:
    """One weight matrix, ready for any number of rows."""

    def __init__(self, weight: Tensor, scale: Tensor, levels: int) -> None:
        """weight int8 [out, in], scale float32 [out]; neither is kept. `levels` are the activations'."""
        self._packed = torch.ops.onednn.qlinear_prepack(weight, [WIDTH, weight.shape[1]])
        self._scale = scale.clone()
        self._zeros = torch.zeros(len(scale), dtype=torch.int64)
        self._zero = levels + 1

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        return torch.ops.onednn.qlinear_pointwise(
            x, 1.0, self._zero, self._packed, self._scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )


@cache
def levels() -> int | None:
    """How finely activations may be quantised here, found by trying; None where this build of PyTorch cannot.

    Processors without VNNI add two products in 16 bits: 7-bit activations are the finest that never overflow.
    """
    generator = torch.Generator().manual_seed(0)
    weight, scale = quantise_weight(_with_worst(torch.randn(64, 256, generator=generator)))
    x = _with_worst(torch.randn(WIDTH, 256, generator=generator))
    for finest in (127, 63):
        q, _ = quantise_rows(x, finest)
        exact = int8_linear(q, weight, scale, finest)
        try:
            found = PackedInt8(weight, scale, finest)(q)
        except (RuntimeError, AttributeError):
            return None
        if torch.allclose(found, exact, rtol=1e-4, atol=1e-4 * float(exact.abs().max())):
            return finest
    return None


def _with_worst(matrix: Tensor) -> Tensor:
    """The first row all at its greatest: the largest sums there can be."""
    matrix[0] = 1
    return matrix
