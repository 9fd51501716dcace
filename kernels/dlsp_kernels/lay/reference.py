"""The rows of a verified step, laid out on the device from what each gap's state says."""

from dataclasses import dataclass

import torch
from torch import Tensor

from dlsp_kernels.packed_rows import NOWHERE, PAGE, PackedRows


@dataclass(frozen=True)
class GapStates:
    """int32 tensors on one device: gaps that decode in the same steps, `width` draft tokens at most."""

    last: Tensor  # [gaps]: the last committed token
    length: Tensor  # [gaps]: cached clean positions; `last` comes behind them
    drafted: Tensor  # [gaps]: how many draft tokens there are, -1 for a gap that is none
    draft: Tensor  # [gaps, width]

    @property
    def width(self) -> int:
        return self.draft.shape[1]


def rows_per_gap(width: int, merged: bool) -> int:
    """`merged`: last token, draft, a canvas after each; otherwise last token and the draft, or else a canvas."""
    return (1 + width) * (1 + width) if merged else 1 + width


def lay(state: GapStates, rows: PackedRows, merged: bool) -> None:
    """Writes token, position, visible, canvas and slot of every gap's rows, which lie one gap after the other.

    Canvases have `width` masks. Rows that a gap has no use for are none (see NOWHERE), at the places left over.
    """
    width, size = state.width, rows_per_gap(state.width, merged)
    for gap, (last, length, drafted) in enumerate(
        zip(state.last.tolist(), state.length.tolist(), state.drafted.tolist(), strict=True)
    ):
        laid = [(0, NOWHERE, 0, 0)] * size
        draft = state.draft[gap, : max(0, drafted)].tolist()
        if drafted >= 0:
            for j, token in enumerate([last, *draft]):
                laid[j] = (token, length + j, length + j + 1, 0)
            for j in range(1 + drafted if merged else int(drafted == 0)):
                for i in range(width):
                    at = 1 + width + j * width + i if merged else 1 + i
                    laid[at] = (-1, length + j + 1 + i, length + j + 1, 1 + j)
        own = slice(gap * size, (gap + 1) * size)
        fields = torch.tensor(laid, dtype=torch.int32, device=rows.token.device).unbind(1)
        for field, values in zip((rows.token, rows.position, rows.visible, rows.canvas), fields, strict=True):
            field[own] = values
        place = torch.arange(length, length + size, device=rows.token.device)
        rows.slot[own] = rows.table[gap, place // PAGE] * PAGE + (place % PAGE).int()
