"""The Walsh-Hadamard transform in groups: an orthogonal map that spreads outliers (QuaRot, arXiv 2404.00456)."""

from functools import cache
from math import gcd

import torch
from torch import Tensor

LARGEST = 64


def group_size(n: int) -> int:
    """The largest power of two that divides n, at most LARGEST."""
    return gcd(n, LARGEST)


@cache
def hadamard_matrix(size: int) -> Tensor:
    """The Hadamard matrix: float32 [size, size], symmetric and orthogonal. `size` is a power of two."""
    matrix = torch.ones(1, 1)
    while len(matrix) < size:
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
    return matrix / size**0.5


def hadamard(x: Tensor) -> Tensor:
    """Transform each group of x [..., n] -> the same shape. The transform is its own inverse.

    A group consists of every (n / size)-th element, where `size` is `group_size(n)`. So neighbouring elements belong to
    different groups, and code can transform whole vectors at once.
    """
    size = group_size(x.shape[-1])
    return (hadamard_matrix(size).to(x.dtype) @ x.unflatten(-1, (size, -1))).flatten(-2)
