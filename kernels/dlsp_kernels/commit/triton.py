"""`commit` as a Triton kernel, with one program per gap."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.overlap import early, wait


def commit(state: GapStates, token: Tensor, probability: Tensor, merged: bool) -> Tensor:
    """See the reference."""
    width = state.width
    result = torch.empty(len(state.last), 3 + 4 * width, dtype=torch.int32, device=token.device)
    _kernel[(len(state.last),)](
        state.last,
        state.length,
        state.drafted,
        state.draft,
        token,
        probability,
        result,
        WIDTH=width,
        SIZE=rows_per_gap(width, merged),
        MERGED=merged,
        TOP=token.shape[1],
        BLOCK=triton.next_power_of_2(1 + width),
        num_warps=1,
        **early(),
    )
    return result


@triton.jit
def _kernel(
    lasts,
    lengths,
    drafteds,
    drafts,
    token,
    probability,
    result,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    MERGED: tl.constexpr,
    TOP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait()
    gap = tl.program_id(0)
    length, drafted = tl.load(lengths + gap), tl.load(drafteds + gap)
    live = drafted >= 0
    i = tl.arange(0, BLOCK)
    is_draft = i < WIDTH
    draft = tl.load(drafts + gap * WIDTH + i, mask=is_draft, other=0)
    chosen = tl.load(token + (gap * SIZE + i) * TOP, mask=i <= WIDTH, other=0)
    chosen_p = tl.load(probability + (gap * SIZE + i) * TOP, mask=i <= WIDTH, other=0.0)
    agrees = (i < drafted) & (draft == chosen)
    run = tl.min(tl.where(agrees, WIDTH, i), 0)
    last = tl.load(token + (gap * SIZE + run) * TOP)

    if MERGED:
        canvas = live
        start = 1 + WIDTH + run * WIDTH
    else:
        canvas = drafted == 0
        start = 1
    next_drafted = tl.where(canvas, WIDTH, 0)
    masks = i < next_drafted
    tokens = tl.load(token + (gap * SIZE + start + i) * TOP, mask=masks, other=-1)
    p = tl.load(probability + (gap * SIZE + start + i) * TOP, mask=masks, other=0.0)

    # All threads must have read the state before any of them writes it.
    tl.debug_barrier()
    to = result + gap * (3 + 4 * WIDTH)
    committed = tl.where(live, run + 1, 0)
    tl.store(to, committed)
    tl.store(to + 1 + i, tl.where(i < committed, chosen, 0), mask=i <= WIDTH)
    tl.store(to + 2 + WIDTH + i, tl.where(i < committed, chosen_p.to(tl.int32, bitcast=True), 0), mask=i <= WIDTH)
    tl.store(to + 3 + 2 * WIDTH + i, tokens, mask=is_draft)
    tl.store(to + 3 + 3 * WIDTH + i, p.to(tl.int32, bitcast=True), mask=is_draft)
    if live:
        tl.store(lasts + gap, last)
        tl.store(lengths + gap, length + run + 1)
        tl.store(drafteds + gap, next_drafted)
        tl.store(drafts + gap * WIDTH + i, tokens, mask=masks)
