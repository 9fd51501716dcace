"""The rows of all sessions of a GPU step, concatenated, as every op reads them."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

# Positions per page of the KV cache.
PAGE = 64

# The number of rows of one session that one attention program processes.
TILE_ROWS = 8

# The position of an unused row: one that only fills up a buffer, sees nothing and is seen by no row.
NOWHERE = 2**30


@dataclass(frozen=True)
class PackedRows:
    """The rows of a step: int32 tensors on one device. A session's rows are contiguous, clean ones first.

    A session's keys are those of its `length` cached clean positions, then those of its rows in this step. They are in
    pages of the pool: key p is in page `table[session, p // PAGE]`. Page 0 belongs to no session: unused rows may write
    there.
    """

    token: Tensor  # [rows], negative for a mask
    position: Tensor  # [rows]
    visible: Tensor  # [rows]: sees the clean positions below this number
    canvas: Tensor  # [rows]: 0 for a clean row, below 0 for an alternative; see `canvas_attention`
    slot: Tensor  # [rows]: where its key and value go, page * PAGE + place in the page
    length: Tensor  # [sessions]
    first: Tensor  # [sessions]: number of the first row
    count: Tensor  # [sessions]: rows
    table: Tensor  # [sessions, pages]
    tile: Tensor  # [tiles, 2]: session (-1: no tile), and the first of its TILE_ROWS rows
    # Whether a session is so long that as many programs as possible should share its keys.
    long: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.token)


def wide(x: Tensor) -> Tensor:
    """x in float32, or in float64 if it is float64: references compute in this precision."""
    return x.to(torch.promote_types(x.dtype, torch.float32))
