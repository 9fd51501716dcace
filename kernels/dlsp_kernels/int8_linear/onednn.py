"""`int8_linear` by oneDNN, for processors on which no kernel of ours can run."""

from dataclasses import dataclass

import torch
from torch import Tensor

WIDTH = 8
"""The number of rows for which oneDNN optimises its packed layout. Calls may have any number of rows."""


@dataclass(frozen=True)
class OneDnn:
    """Int8 matrices for activations of this many `levels`; an `Int8`."""

    levels: int

    @property
    def name(self) -> str:
        return "oneDNN"

    def here(self) -> bool:
        return torch.backends.mkldnn.is_available()

    def pack(self, weight: Tensor) -> Tensor:
        """The weight, int8 [out, in], unchanged: oneDNN packs it at every start."""
        return weight

    def matrix(self, packed: Tensor, scale: Tensor) -> "OneDnnMatrix":
        """The matrix with scale float32 [out]. Raises RuntimeError if oneDNN cannot pack it, ValueError if
        `packed` has another number of outputs.
        """
        if packed.dtype != torch.int8 or packed.shape != (len(scale), packed.shape[-1]):
            raise ValueError(f"{packed.dtype} {list(packed.shape)} is not a matrix of {len(scale)} outputs")
        return OneDnnMatrix(packed, scale, self.levels + 1)


class OneDnnMatrix:
    """An int8 matrix; call it to multiply rows of activations by it."""

    def __init__(self, weight: Tensor, scale: Tensor, zero: int) -> None:
        """`zero` is the zero point of the uint8 activations."""
        self._packed = torch.ops.onednn.qlinear_prepack(weight, [WIDTH, weight.shape[1]])
        self.ins, self._scale, self._zero = weight.shape[1], scale, zero
        self._zeros = torch.zeros(len(scale), dtype=torch.int64)

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], not yet multiplied by the scales of x's rows."""
        return torch.ops.onednn.qlinear_pointwise(
            x, 1.0, self._zero, self._packed, self._scale, self._zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )

    def first(self, _outs: int, /) -> "OneDnnMatrix":
        """This matrix, with all its outputs: a part of it would have to be packed once more."""
        return self
