"""`lay` as a Triton kernel, with one program per gap."""

import triton
import triton.language as tl

from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.overlap import early, wait
from dlsp_kernels.packed_rows import NOWHERE, PAGE, PackedRows


def lay(state: GapStates, rows: PackedRows, merged: bool) -> None:
    """See the reference."""
    size = rows_per_gap(state.width, merged)
    _kernel[(len(state.last),)](
        state.last,
        state.length,
        state.drafted,
        state.draft,
        rows.table,
        rows.token,
        rows.position,
        rows.visible,
        rows.canvas,
        rows.slot,
        rows.table.shape[1],
        WIDTH=state.width,
        SIZE=size,
        MERGED=merged,
        NOWHERE=NOWHERE,
        PAGE=PAGE,
        BLOCK=triton.next_power_of_2(size),
        num_warps=1,
        **early(),
    )


@triton.jit
def _kernel(
    lasts,
    lengths,
    drafteds,
    drafts,
    table,
    token,
    position,
    visible,
    canvas,
    slot,
    pages,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    MERGED: tl.constexpr,
    NOWHERE: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait()
    gap = tl.program_id(0)
    last, length, drafted = tl.load(lasts + gap), tl.load(lengths + gap), tl.load(drafteds + gap)
    CANVAS: tl.constexpr = WIDTH if WIDTH > 0 else 1  # avoids a division by zero
    i = tl.arange(0, BLOCK)
    inside = i < SIZE
    if MERGED:
        clean = i <= WIDTH
        j = tl.where(clean, i, (i - 1 - WIDTH) // CANVAS)  # the clean row: itself, or the one before its canvas
        offset = (i - 1 - WIDTH) % CANVAS
        alive = j <= drafted
    else:
        clean = i < tl.where(drafted > 0, SIZE, 1)
        j = tl.where(clean, i, 0)
        offset = i - 1
        alive = i < tl.where(drafted == 0, SIZE, 1 + drafted)
    is_draft = inside & alive & clean & (i > 0)
    draft = tl.load(drafts + gap * WIDTH + i - 1, mask=is_draft, other=0)
    number = tl.where(clean, tl.where(i == 0, last, draft), -1)
    to = gap * SIZE + i
    tl.store(token + to, tl.where(alive, number, 0), mask=inside)
    at = length + j + tl.where(clean, 0, 1 + offset)
    tl.store(position + to, tl.where(alive, at, NOWHERE), mask=inside)
    tl.store(visible + to, tl.where(alive, length + j + 1, 0), mask=inside)
    tl.store(canvas + to, tl.where(alive & (clean == 0), 1 + j, 0), mask=inside)
    place = length + i
    page = tl.load(table + gap * pages + place // PAGE, mask=inside, other=0)
    tl.store(slot + to, page * PAGE + place % PAGE, mask=inside)
