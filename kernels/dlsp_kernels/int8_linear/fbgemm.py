"""`int8_linear` by FBGEMM: where a processor has no VNNI, three to six times as fast as oneDNN for a few rows."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# PyTorch means to drop quantised tensors some day; the version that is pinned has them.
warnings.filterwarnings("ignore", "torch.quantize_per_tensor, .* are deprecated", UserWarning)


class Fbgemm:
    """One weight matrix, ready for any number of rows."""

    def __init__(self, packed: Any, scale: Tensor, levels: int) -> None:
        self.packed = packed
        self.scale = scale
        self._zero = levels + 1

    @classmethod
    def pack(cls, weight: Tensor, scale: Tensor, levels: int) -> "Fbgemm":
        """weight int8 [out, in], scale float32 [out]; the weight is not kept. `levels` are the activations'."""
        zeros = torch.zeros(len(scale), dtype=torch.int64)
        quantised = torch._make_per_channel_quantized_tensor(  # pyright: ignore[reportPrivateImportUsage]
            weight, scale.double(), zeros, 0
        )
        return cls(torch.ops.quantized.linear_prepack(quantised, None), scale, levels)

    @classmethod
    def reader(cls, outs: int, ins: int, levels: int) -> "Callable[[Tensor, Tensor], Fbgemm]":
        """Makes matrices of this shape from what `stored` and their scales gave. It raises ValueError for another."""

        def read(stored: Tensor, scale: Tensor) -> Fbgemm:
            if stored.shape != (outs, ins):
                raise ValueError("stored for another layout")
            return cls.pack(stored, scale, levels)

        return read

    @property
    def stored(self) -> Tensor:
        """The weight as it was: FBGEMM's own layout cannot be had, and is made quickly."""
        weight, _ = torch.ops.quantized.linear_unpack(self.packed)
        return weight.int_repr()

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        return torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            x - float(self._zero), 1.0, self._zero, self.packed
        )
