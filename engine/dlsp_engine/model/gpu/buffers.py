"""Rows of sessions as a step's kernels read them, in one buffer of fixed addresses for each shape."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_engine.model.gpu.pool import MOST_PAGES, PagedCache
from dlsp_engine.model.rows import Rows
from dlsp_kernels.packed_rows import NOWHERE, TILE_ROWS, PackedRows

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
SESSIONS = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class Shape:
    """How many of each a captured step has room for. A step takes the smallest that is large enough."""

    rows: int
    sessions: int
    canvas: bool
    """Whether any row is a canvas row: without, nothing of the adapter is read."""

    @classmethod
    def of(cls, batch: Sequence[Rows]) -> "Shape":
        rows = sum(len(one) for one in batch)
        return cls(
            next((size for size in ROWS if rows <= size), -(-rows // ROWS[-1]) * ROWS[-1]),
            next((size for size in SESSIONS if len(batch) <= size), len(batch)),
            any(any(one.canvas) for one in batch),
        )

    @property
    def tiles(self) -> int:
        return self.rows // TILE_ROWS + self.sessions


class Buffer:
    """The PackedRows of one shape: views of one tensor, filled by one copy."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        self.shape = shape
        self._sizes = [shape.rows] * 5 + [shape.sessions] * 3 + [shape.sessions * MOST_PAGES, shape.tiles * 2]
        self._held = torch.zeros(total(self._sizes), dtype=torch.int32, device=device)
        self.rows = _rows(self._held, self._sizes)

    def fill(self, batch: Sequence[tuple[PagedCache, Rows]]) -> None:
        host = torch.zeros(len(self._held), dtype=torch.int32)
        rows = _rows(host, self._sizes)
        rows.position.fill_(NOWHERE)
        rows.tile[:, 0] = -1
        start, tiles = 0, []
        for number, (cache, own) in enumerate(batch):
            cache.reserve(len(own))
            here = slice(start, start + len(own))
            for field, values in (
                (rows.token, own.tokens),
                (rows.position, own.positions),
                (rows.visible, own.visible),
                (rows.canvas, own.canvas),
                (rows.slot, [cache.slot(cache.length + i) for i in range(len(own))]),
            ):
                field[here] = torch.tensor(values, dtype=torch.int32)
            rows.length[number], rows.first[number], rows.count[number] = cache.length, start, len(own)
            rows.table[number, : len(cache.pages)] = torch.tensor(cache.pages, dtype=torch.int32)
            tiles += [(number, row) for row in range(start, start + len(own), TILE_ROWS)]
            start += len(own)
        rows.tile[: len(tiles)] = torch.tensor(tiles, dtype=torch.int32)
        self._held.copy_(host)


def _rows(buffer: Tensor, sizes: list[int]) -> PackedRows:
    *fields, table, tile = views(buffer, sizes)
    return PackedRows(*[*fields, table.view(-1, MOST_PAGES), tile.view(-1, 2)])


def total(sizes: list[int]) -> int:
    """Of a buffer that `views` cuts."""
    return sum(map(_aligned, sizes))


def views(buffer: Tensor, sizes: list[int]) -> list[Tensor]:
    """Parts of so many int32, each at a multiple of 16 bytes: Triton compiles a kernel anew for other addresses."""
    parts = buffer.split([_aligned(size) for size in sizes])
    return [part[:size] for part, size in zip(parts, sizes, strict=True)]


def _aligned(size: int) -> int:
    return -(-size // 4) * 4
