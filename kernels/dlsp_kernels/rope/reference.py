"""Rotary position embedding (arXiv 2104.09864): element i of a head's first half is rotated with element i of its
second.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def rope_table(positions: Tensor, head_dim: int, theta: float, divisors: Sequence[float] = ()) -> tuple[Tensor, Tensor]:
    """positions [rows] -> cos, sin: float32 [rows, 1, head_dim / 2], the same for all heads. Frequencies are divided by
    `divisors`, if there are any: head_dim / 2 numbers, which scale positions.
    """
    frequency = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim)
    if divisors:
        frequency = frequency / torch.tensor(divisors)
    angle = positions.float()[:, None, None] * frequency
    return angle.cos(), angle.sin()


def rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [rows, heads, head_dim] -> the same shape and dtype; computed in float32."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)
