"""The rows of many sessions side by side: packed for the linear layers, apart for attention."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows
from dlsp_kernels import attention_bias, canvas_attention, rope_table


@dataclass
class Piece:
    """Rows that attend over the same number of keys."""

    rows: slice
    keys: int
    bias: Tensor


@dataclass
class Segment:
    """One session's rows within the packed ones, and what their attention sees."""

    rows: slice
    cache: Cache
    pieces: list[Piece]


@dataclass
class Packed:
    tokens: Tensor  # [rows]
    cos: Tensor  # [rows, 1, head_dim / 2]
    sin: Tensor
    canvas: slice | Tensor | None  # the canvas rows: a range where they lie together, else their numbers
    segments: list[Segment]
    clean: int  # rows of no canvas

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, d]; k, v [rows, kv_heads, d], written behind the cached ones -> [rows, heads * d]."""
        attended = []
        for segment in self.segments:
            keys, values = segment.cache.write(layer, k[segment.rows], v[segment.rows])
            for piece in segment.pieces:
                own, seen = q[piece.rows], piece.keys
                attended.append(canvas_attention(own, keys[:, :seen], values[:, :seen], piece.bias))
        return torch.cat(attended) if len(attended) > 1 else attended[0]


def packed(batch: list[tuple[Cache, Rows]], shape: Architecture, dtype: torch.dtype) -> Packed:
    """Makes room in each cache, too."""
    cos, sin = rope_table(torch.tensor([p for _, rows in batch for p in rows.positions]), shape.head_dim, shape.theta)
    segments, start = [], 0
    for cache, rows in batch:
        cache.reserve(len(rows))
        numbers = torch.tensor([rows.positions, rows.visible, rows.canvas])
        pieces = [
            Piece(
                slice(start + own.start, start + own.stop),
                keys,
                attention_bias(numbers, cache.length, keys, shape.groups, dtype, own),
            )
            for own, keys in _pieces(cache, rows)
        ]
        segments.append(Segment(slice(start, start + len(rows)), cache, pieces))
        start += len(rows)
    canvas = [i for i, number in enumerate(c for _, rows in batch for c in rows.canvas) if number]
    tokens = torch.tensor([t for _, rows in batch for t in rows.tokens])
    return Packed(tokens, cos, sin, _range(canvas), segments, len(tokens) - len(canvas))


def _pieces(cache: Cache, rows: Rows) -> Iterator[tuple[slice, int]]:
    """Runs of rows with the keys they need: a clean row as many as in a step of its own, canvas rows all."""
    clean = len(rows) - sum(map(bool, rows.canvas))
    needed = [cache.keys(row + 1 if row < clean else len(rows)) for row in range(len(rows))]
    start = 0
    for keys, run in groupby(needed):
        end = start + len(list(run))
        yield slice(start, end), keys
        start = end


def _range(rows: list[int]) -> slice | Tensor | None:
    if not rows:
        return None
    if rows[-1] - rows[0] == len(rows) - 1:
        return slice(rows[0], rows[-1] + 1)
    return torch.tensor(rows)
