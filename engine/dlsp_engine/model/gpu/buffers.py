"""Input buffers of a GPU forward pass: one for each batch shape, at a fixed address as CUDA graphs require."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np
import torch
from torch import Tensor

from dlsp_engine.model.gpu.pool import MAX_SESSION_PAGES, PagedCache
from dlsp_engine.model.rows import Rows
from dlsp_kernels.packed_rows import NOWHERE, PAGE, TILE_ROWS, PackedRows
from dlsp_kernels.tiling import EXACT_ROWS

# The last is the most rows of a step.
ROW_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512)
SESSION_COUNTS = (1, 4, 16, 64, 256)
LONG_CONTEXT = 8192


@dataclass(frozen=True)
class BatchShape:
    """The capacity of a captured step. A step uses the smallest shape that holds its batch."""

    rows: int
    sessions: int
    # Whether any row is a canvas row. If none is, the step does not read the adapter's low-rank updates.
    canvas: bool
    # Whether all rows are published (`Cache.published`).
    published: bool = False
    # Whether a context is longer than LONG_CONTEXT, so that more programs share its keys.
    long: bool = False

    @classmethod
    def of(cls, batch: Sequence[Rows], published: bool = False, context: int = 0) -> "BatchShape":
        """The smallest shape that holds the batch, with sizes from ROW_COUNTS and SESSION_COUNTS.

        More rows than ROW_COUNTS[-1] are rounded up to a multiple of it. More sessions than SESSION_COUNTS[-1] are not
        rounded. `context`: the most positions that a session has cached.
        """
        rows = sum(len(one) for one in batch)
        return cls(
            next((size for size in ROW_COUNTS if rows <= size), -(-rows // ROW_COUNTS[-1]) * ROW_COUNTS[-1]),
            next((size for size in SESSION_COUNTS if len(batch) <= size), len(batch)),
            any(number > 0 for one in batch for number in one.canvas),
            published,
            context > LONG_CONTEXT,
        )

    @property
    def narrow(self) -> bool:
        """Whether the step goes on to the scores of all its rows. Of more rows most are a prompt's, without scores."""
        return self.rows <= EXACT_ROWS

    @property
    def tiles(self) -> int:
        """The number of attention tiles (TILE_ROWS rows of one session) that suffices for every batch of this shape."""
        return self.rows // TILE_ROWS + self.sessions


def shapes(published: bool) -> Iterator[BatchShape]:
    """All shapes of batches of at most ROW_COUNTS[-1] rows; `published`: whether there are published caches."""
    for rows, (fewer, sessions) in product(ROW_COUNTS, pairwise((0, *SESSION_COUNTS))):
        for canvas, long, alone in product((False, True), repeat=3):
            if fewer < rows and not (canvas and rows == fewer + 1) and (published or not alone):
                yield BatchShape(rows, sessions, canvas, alone, long)


class Buffer:
    """The `PackedRows` of one shape: views of a single int32 tensor on the device, so that one copy fills them all."""

    def __init__(self, shape: BatchShape, device: torch.device) -> None:
        self.shape = shape
        sizes = [shape.rows] * 5 + [shape.sessions] * 3 + [shape.sessions * MAX_SESSION_PAGES, shape.tiles * 2]
        self._buffer = torch.zeros(total(sizes), dtype=torch.int32, device=device)
        self.rows = replace(_rows(self._buffer, sizes), long=shape.long)
        self._host = torch.zeros(len(self._buffer), dtype=torch.int32)
        self._host_rows = _rows(self._host, sizes)

    def fill(self, batch: Sequence[tuple[PagedCache, Rows]]) -> None:
        """Copy the batch's rows to the device, and reserve cache pages for them.

        Unused rows get the position NOWHERE, unused tiles the session -1. Raises MemoryError when the page pool is
        exhausted.
        """
        self._host.zero_()
        rows = self._host_rows
        end = sum(len(own) for _, own in batch)
        rows.position[end:] = NOWHERE
        rows.tile[:, 0] = -1
        slots: list[np.ndarray] = []
        tiles: list[tuple[int, int]] = []
        table, length, first = rows.table.numpy(), [], []
        start = 0
        for number, (cache, own) in enumerate(batch):
            cache.reserve(len(own))
            pages = np.array(cache.pages)
            at = np.arange(cache.length, cache.length + len(own))
            slots.append(pages[at // PAGE] * PAGE + at % PAGE)
            table[number, : len(pages)] = pages
            length.append(cache.length)
            first.append(start)
            tiles += [(number, row) for row in range(start, start + len(own), TILE_ROWS)]
            start += len(own)
        for field, values in (
            (rows.token, [token for _, own in batch for token in own.tokens]),
            (rows.position, [position for _, own in batch for position in own.positions]),
            (rows.visible, [visible for _, own in batch for visible in own.visible]),
            (rows.canvas, [canvas for _, own in batch for canvas in own.canvas]),
            (rows.slot, np.concatenate([*slots, np.zeros(0, np.int64)])),
            (rows.length, length),
            (rows.first, first),
            (rows.count, [len(own) for _, own in batch]),
        ):
            field.numpy()[: len(values)] = values
        rows.tile.numpy()[: len(tiles)] = np.array(tiles, np.int32).reshape(-1, 2)
        self._buffer.copy_(self._host)


def _rows(buffer: Tensor, sizes: list[int]) -> PackedRows:
    *fields, table, tile = views(buffer, sizes)
    return PackedRows(*[*fields, table.view(-1, MAX_SESSION_PAGES), tile.view(-1, 2)])


def total(sizes: list[int]) -> int:
    """The length, in int32, of a buffer that `views` can split into these sizes."""
    return sum(map(_aligned, sizes))


def views(buffer: Tensor, sizes: list[int]) -> list[Tensor]:
    """Split an int32 buffer into parts of these sizes, each starting at a multiple of 16 bytes.

    Triton would compile a kernel again for pointers with another alignment.
    """
    parts = buffer.split([_aligned(size) for size in sizes])
    return [part[:size] for part, size in zip(parts, sizes, strict=True)]


def _aligned(size: int) -> int:
    """`size` rounded up to a multiple of 4 int32, which is 16 bytes."""
    return -(-size // 4) * 4
