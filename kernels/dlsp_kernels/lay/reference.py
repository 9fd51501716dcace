"""Writes the rows of a verify step on the device, from the state of each gap.

A gap is one place in a text that is being completed.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_kernels.packed_rows import NOWHERE, PAGE, PackedRows


@dataclass(frozen=True)
class GapStates:
    """The states of all gaps that share a step: int32 tensors on one device. `width` is the most draft
    tokens of a gap.
    """

    last: Tensor  # [gaps]: the last committed token
    length: Tensor  # [gaps]: number of cached clean positions, and so the position of `last`
    drafted: Tensor  # [gaps]: number of draft tokens; -1 for an unused gap
    draft: Tensor  # [gaps, width]

    @property
    def width(self) -> int:
        return self.draft.shape[1]


def rows_per_gap(width: int, merged: bool) -> int:
    """The number of rows that each gap has in a step.

    `merged`: the last token, the draft tokens, and a canvas after each of these. Otherwise the last token with either
    the draft tokens or one canvas.
    """
    return (1 + width) * (1 + width) if merged else 1 + width


def lay(state: GapStates, rows: PackedRows, merged: bool) -> None:
    """Write token, position, visible, canvas and slot of every gap's rows, one gap after the other.

    Each canvas has `width` masks. Rows that a gap does not need have the position NOWHERE. Row i of a gap, needed or
    not, gets the slot of cache position length + i.
    """
    width, size = state.width, rows_per_gap(state.width, merged)
    for gap, (last, length, drafted) in enumerate(
        zip(state.last.tolist(), state.length.tolist(), state.drafted.tolist(), strict=True)
    ):
        contents = [(0, NOWHERE, 0, 0)] * size
        draft = state.draft[gap, : max(0, drafted)].tolist()
        if drafted >= 0:
            for j, token in enumerate([last, *draft]):
                contents[j] = (token, length + j, length + j + 1, 0)
            for j in range(1 + drafted if merged else int(drafted == 0)):
                for i in range(width):
                    at = 1 + width + j * width + i if merged else 1 + i
                    contents[at] = (-1, length + j + 1 + i, length + j + 1, 1 + j)
        own = slice(gap * size, (gap + 1) * size)
        fields = torch.tensor(contents, dtype=torch.int32, device=rows.token.device).unbind(1)
        for field, values in zip((rows.token, rows.position, rows.visible, rows.canvas), fields, strict=True):
            field[own] = values
        place = torch.arange(length, length + size, device=rows.token.device)
        rows.slot[own] = rows.table[gap, place // PAGE] * PAGE + (place % PAGE).int()
