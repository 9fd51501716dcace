"""`int8_linear` by oneDNN, where no program of ours runs."""

from dataclasses import dataclass

import torch
from torch import Tensor

WIDTH = 8
"""Rows that the packed layout is chosen for; any number may come."""


@dataclass(frozen=True)
class OneDnn:
    """Matrices for activations of so many `levels`."""

    levels: int

    @property
    def name(self) -> str:
        return "oneDNN"

    def here(self) -> bool:
        return torch.backends.mkldnn.is_available()

    def laid(self, weight: Tensor) -> Tensor:
        """int8 [out, in] as it is: oneDNN lays it in its own way at every start."""
        return weight

    def matrix(self, laid: Tensor, scale: Tensor) -> "OneDnnMatrix":
        """`scale` is float32 [out]. Raises RuntimeError where oneDNN cannot."""
        return OneDnnMatrix(laid, scale, self.levels + 1)


class OneDnnMatrix:
    def __init__(self, weight: Tensor, scale: Tensor, zero: int) -> None:
        """`zero` is what stands for 0 in x."""
        self._packed = torch.ops.onednn.qlinear_prepack(weight, [WIDTH, weight.shape[1]])
        self.ins, self._scale, self._zero = weight.shape[1], scale, zero
        self._zeros = torch.zeros(len(scale), dtype=torch.int64)

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        return torch.ops.onednn.qlinear_pointwise(
            x, 1.0, self._zero, self._packed, self._scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
