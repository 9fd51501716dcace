"""`int8_linear` by oneDNN: weights packed once; up to some ten rows as fast as memory gives the weights."""

import ctypes
from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.int8_linear.reference import int8_linear
from dlsp_kernels.quantise.reference import quantise_rows, quantise_weight

WIDTH = 8
"""Rows that the packed layout is chosen for; any number may come."""


class PackedInt8:
    """One weight matrix, ready for any number of rows."""

    def __init__(self, packed: Tensor, scale: Tensor, levels: int) -> None:
        self.packed = packed
        self.scale = scale
        self._zeros = torch.zeros(len(scale), dtype=torch.int64)
        self._zero = levels + 1

    @classmethod
    def pack(cls, weight: Tensor, scale: Tensor, levels: int) -> "PackedInt8":
        """weight int8 [out, in], scale float32 [out]; the weight is not kept. `levels` are the activations'."""
        return cls(torch.ops.onednn.qlinear_prepack(weight, [WIDTH, weight.shape[1]]), scale, levels)

    def like(self, stored: Tensor, scale: Tensor, levels: int) -> "PackedInt8":
        """A matrix of the same shape from what `stored` gave: copying is ten times faster than packing.

        Right on the machine and the build of PyTorch that stored it. Raises ValueError for another size.
        """
        twin = self.packed.clone()
        if stored.numel() != torch.ops.mkldnn._nbytes(twin):
            raise ValueError("stored for another layout")
        ctypes.memmove(torch.ops.mkldnn.data_ptr(twin), stored.data_ptr(), stored.numel())
        return PackedInt8(twin, scale, levels)

    @property
    def stored(self) -> Tensor:
        """The packed bytes, as a tensor of its own."""
        size = torch.ops.mkldnn._nbytes(self.packed)
        copy = torch.empty(size, dtype=torch.uint8)
        ctypes.memmove(copy.data_ptr(), torch.ops.mkldnn.data_ptr(self.packed), size)
        return copy

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        return torch.ops.onednn.qlinear_pointwise(
            x, 1.0, self._zero, self.packed, self.scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
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
            found = PackedInt8.pack(weight, scale, finest)(q)
        except (RuntimeError, AttributeError):
            return None
        if torch.allclose(found, exact, rtol=1e-4, atol=1e-4 * float(exact.abs().max())):
            return finest
    return None


def _with_worst(matrix: Tensor) -> Tensor:
    """The first row all at its greatest: the largest sums there can be."""
    matrix[0] = 1
    return matrix
