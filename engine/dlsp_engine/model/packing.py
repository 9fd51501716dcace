"""The rows of many sessions side by side, as the linear layers take them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.attention import Batch
from dlsp_kernels import rope_table


@dataclass
class Packed:
    tokens: Tensor  # [rows]
    cos: Tensor  # [rows, 1, head_dim / 2]
    sin: Tensor
    canvas: slice | Tensor | None  # the canvas rows: a range where they lie together, else their numbers


def packed(batch: Batch, shape: Architecture) -> Packed:
    """Makes room in each cache, too."""
    for cache, rows in batch:
        cache.reserve(len(rows))
    cos, sin = rope_table(torch.tensor([p for _, rows in batch for p in rows.positions]), shape.head_dim, shape.theta)
    canvas = [i for i, number in enumerate(c for _, rows in batch for c in rows.canvas) if number > 0]
    tokens = torch.tensor([t for _, rows in batch for t in rows.tokens])
    return Packed(tokens, cos, sin, _range(canvas))


def _range(rows: list[int]) -> slice | Tensor | None:
    if not rows:
        return None
    if rows[-1] - rows[0] == len(rows) - 1:
        return slice(rows[0], rows[-1] + 1)
    return torch.tensor(rows)
