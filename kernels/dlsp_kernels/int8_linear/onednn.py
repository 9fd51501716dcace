"""`int8_linear` by oneDNN, where the processor has VNNI; few rows by a program that reads what oneDNN packed."""

import ctypes
from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from dlsp_kernels.int8_linear import narrow

WIDTH = 8
"""Rows that the packed layout is chosen for; any number may come."""


class OneDnn:
    """One weight matrix, ready for any number of rows."""

    def __init__(self, packed: Tensor, scale: Tensor, levels: int) -> None:
        self.packed = packed
        self.scale = scale
        self._zeros = torch.zeros(len(scale), dtype=torch.int64)
        self._zero = levels + 1

    @classmethod
    def pack(cls, weight: Tensor, scale: Tensor, levels: int) -> "OneDnn":
        """weight int8 [out, in], scale float32 [out]; the weight is not kept. `levels` are the activations'."""
        return cls(torch.ops.onednn.qlinear_prepack(weight, [WIDTH, weight.shape[1]]), scale, levels)

    @classmethod
    def reader(cls, outs: int, ins: int, levels: int) -> "Callable[[Tensor, Tensor], OneDnn]":
        """Makes matrices of this shape from what `stored` and their scales gave: ten times faster than packing.

        Right on the machine and the build of PyTorch that stored it. It raises ValueError for another size.
        """
        empty = cls.pack(torch.zeros(outs, ins, dtype=torch.int8), torch.ones(outs), levels).packed

        def read(stored: Tensor, scale: Tensor) -> OneDnn:
            if stored.numel() != torch.ops.mkldnn._nbytes(empty):
                raise ValueError("stored for another layout")
            packed = empty.clone()
            ctypes.memmove(torch.ops.mkldnn.data_ptr(packed), stored.data_ptr(), stored.numel())
            return cls(packed, scale, levels)

        return read

    @property
    def stored(self) -> Tensor:
        """The packed bytes, as a tensor of its own."""
        size = torch.ops.mkldnn._nbytes(self.packed)
        copy = torch.empty(size, dtype=torch.uint8)
        ctypes.memmove(copy.data_ptr(), torch.ops.mkldnn.data_ptr(self.packed), size)
        return copy

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        few = self._narrow if len(x) <= narrow.MOST else None
        return few(x) if few else self._by_onednn(x)

    @cached_property
    def _narrow(self) -> narrow.Narrow | None:
        """None where it cannot be had, or where it gives other bits: oneDNN may pack in another way."""
        run, (ins, outs) = narrow.program(), self.packed.shape
        if not run or ins % 4 or torch.ops.mkldnn._nbytes(self.packed) < narrow.size(outs, ins):
            return None
        few = narrow.Narrow(run, torch.ops.mkldnn.data_ptr(self.packed), ins, self.scale, self._zero)
        x = torch.randint(0, 256, (2, ins), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
        return few if torch.equal(few(x), self._by_onednn(x)) else None

    def _by_onednn(self, x: Tensor) -> Tensor:
        return torch.ops.onednn.qlinear_pointwise(
            x, 1.0, self._zero, self.packed, self.scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
