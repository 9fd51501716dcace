"""Residual addition, RMSNorm and quantisation in one op, which comes between two int8 matrices."""

import torch
from torch import Tensor

from dlsp_kernels.quantise.reference import quantise_rows


def add_norm_quantise(x: Tensor, y: Tensor, y_scale: Tensor, eps: float, levels: int) -> tuple[Tensor, Tensor]:
    """Add y[:, :dim] * y_scale to x [rows, dim] in place. Returns x's norm: uint8 [rows, dim] and scale [rows, 1].

    y_scale [rows, 1]. The norm's weights are part of the matrix that follows. For `levels` see `quantise_rows`.
    """
    x.addcmul_(y[:, : x.shape[1]], y_scale)
    return quantise_rows(x * torch.rsqrt(x.square().mean(1, keepdim=True) + eps), levels)
