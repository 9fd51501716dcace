"""Symmetric int8 quantisation with one scale per row. Activations are stored unsigned, with a zero point."""

import torch
from torch import Tensor


def quantise_rows(x: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """x float32 [rows, in] -> q uint8 [rows, in] and scale [rows, 1]; x is about (q - zero point) * scale.

    `levels` is the largest magnitude of q - zero point. The zero point is levels + 1.
    """
    scale = x.abs().amax(1, keepdim=True).clamp_(min=1e-10).mul_(1 / levels)
    return (x / scale).round_().add_(levels + 1).to(torch.uint8), scale


def quantise_weight(weight: Tensor) -> tuple[Tensor, Tensor]:
    """weight float32 [out, in] -> q int8 [out, in] and scale [out]; weight is about q * scale."""
    scale = weight.abs().amax(1).clamp_(min=1e-10).mul_(1 / 127)
    return (weight / scale[:, None]).round_().to(torch.int8), scale
