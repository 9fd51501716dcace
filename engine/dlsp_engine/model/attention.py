"""Attention of one step's rows, session by session, in PyTorch: the reference."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Batch, Rows
from dlsp_kernels import attention_bias, canvas_attention


class Attention(Protocol):
    """The attention of one step. It is called once for each layer."""

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, d]; k, v [rows, kv_heads, d] -> attended values [rows, heads * d].

        Also writes k and v to each session's cache, behind its cached positions.
        """
        ...


@dataclass
class Piece:
    """A run of consecutive rows that attend over the same number of keys."""

    rows: slice  # within the packed rows of the step
    keys: int
    bias: Tensor  # [groups * rows, rounded up, keys]: what `attention_bias` makes


@dataclass
class Segment:
    """The rows of one session within the packed rows of a step."""

    rows: slice
    cache: Cache
    pieces: list[Piece]


class ReferenceAttention:
    """Attends session by session.

    A clean row is computed with as many keys as in a step of its own, so its sums are the same whatever else is in the
    step.
    """

    def __init__(self, batch: Batch, shape: Architecture, dtype: torch.dtype) -> None:
        self._segments: list[Segment] = []
        start = 0
        for cache, rows in batch:
            numbers = torch.tensor([rows.positions, rows.visible, rows.canvas])
            pieces = [
                Piece(
                    slice(start + own.start, start + own.stop),
                    keys,
                    attention_bias(numbers, cache.length, keys, shape.groups, dtype, own),
                )
                for own, keys in _pieces(cache, rows)
            ]
            self._segments.append(Segment(slice(start, start + len(rows)), cache, pieces))
            start += len(rows)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        attended = []
        for segment in self._segments:
            keys, values = segment.cache.write(layer, k[segment.rows], v[segment.rows])
            for piece in segment.pieces:
                own, seen = q[piece.rows], piece.keys
                attended.append(canvas_attention(own, keys[:, :seen], values[:, :seen], piece.bias))
        return torch.cat(attended) if len(attended) > 1 else attended[0]


def _pieces(cache: Cache, rows: Rows) -> Iterator[tuple[slice, int]]:
    """Runs of consecutive rows that need the same number of keys: (rows, keys).

    A clean row needs as many keys as in a step that ends with the last row that it sees; other rows need all keys of
    the step.
    """
    clean = len(rows) - sum(map(bool, rows.canvas))
    ahead = [visible - position for visible, position in zip(rows.visible, rows.positions, strict=True)]
    needed = [cache.keys(row + ahead[row] if row < clean else len(rows)) for row in range(len(rows))]
    start = 0
    for keys, run in groupby(needed):
        end = start + len(list(run))
        yield slice(start, end), keys
        start = end
