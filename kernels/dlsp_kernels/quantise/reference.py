"""Symmetric int8 quantisation, a scale a row. Activations are stored with an offset, as unsigned integers."""

import torch
from torch import Tensor


def quantise_rows(x: Tensor, levels: int) -> tuple[Tensor, Tensor]:
    """x [rows, in] float32 -> uint8 [rows, in] and scale [rows, 1]; x is about (q - zero) * scale.

    `levels` is the largest distance from zero, which is stored as levels + 1.
    """
    scale = x.abs().amax(1, keepdim=True).clamp_(min=1e-10).mul_(1 / levels)
    return (x / scale).round_().add_(levels + 1).to(torch.uint8), scale


def quantise_weight(weight: Tensor) -> tuple[Tensor, Tensor]:
    """weight [out, in] float32 -> int8 [out, in] and scale [out]; weight is about q * scale."""
    scale = weight.abs().amax(1).clamp_(min=1e-10).mul_(1 / 127)
    return (weight / scale[:, None]).round_().to(torch.int8), scale
