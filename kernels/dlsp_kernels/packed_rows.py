"""The rows of many sessions side by side in one step, as every op of a GPU step reads them."""

from dataclasses import dataclass

import torch
from torch import Tensor

PAGE = 64
"""Positions in a page of the pool that holds keys and values."""

TILE_ROWS = 8
"""Rows of one session that one program of the attention takes."""

NOWHERE = 2**30
"""The position of a row that is none: it fills a place, sees nothing and is seen by nothing."""


@dataclass(frozen=True)
class PackedRows:
    """int32 tensors on one device. A session's rows lie together, clean ones first.

    Its keys are its `length` cached clean positions, then its rows of this step, in pages of the pool: place p is in
    page `table[session, p // PAGE]`. Page 0 belongs to nobody: rows that are none may write there.
    """

    token: Tensor  # [rows], negative for a mask
    position: Tensor  # [rows]
    visible: Tensor  # [rows]: sees the clean positions below this number
    canvas: Tensor  # [rows]: 0 for a clean row; rows of one canvas see each other
    slot: Tensor  # [rows]: where its key and value go, page * PAGE + place in the page
    length: Tensor  # [sessions]
    first: Tensor  # [sessions]: number of the first row
    count: Tensor  # [sessions]: rows
    table: Tensor  # [sessions, pages]
    tile: Tensor  # [tiles, 2]: session (-1: no tile), and the first of its TILE_ROWS rows

    def __len__(self) -> int:
        return len(self.token)


def wide(x: Tensor) -> Tensor:
    """References compute in float32, or in float64 when they are given it."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
