"""Rotary position embedding, NeoX halves (arXiv 2104.09864)."""

import torch
from torch import Tensor


def rope_table(positions: Tensor, head_dim: int, theta: float) -> tuple[Tensor, Tensor]:
    """positions [rows] -> cos, sin, each [rows, 1, head_dim / 2] in float32, one row for all heads."""
    frequency = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    angle = positions.float()[:, None, None] * frequency
    return angle.cos(), angle.sin()


def rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [rows, heads, head_dim], rotated in float32 and returned in x's dtype."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)
