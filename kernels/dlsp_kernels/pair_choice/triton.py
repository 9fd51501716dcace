"""`pair_choice` as a Triton kernel, with one program per gap."""

import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.overlap import early, wait
from dlsp_kernels.pair_choice.reference import Pairs


def pair_choice(
    state: GapStates, result: Tensor, token: Tensor, probability: Tensor, pairs: Pairs, merged: bool
) -> None:
    """See the reference. Between equal results, the candidate that was likelier at first is chosen."""
    top = token.shape[1]
    _kernel[(len(state.last),)](
        state.last,
        state.drafted,
        state.draft,
        result,
        token,
        probability,
        pairs.starts,
        pairs.after,
        pairs.count,
        pairs.alone,
        pairs.total,
        pairs.smoothing,
        pairs.strength,
        WIDTH=state.width,
        SIZE=rows_per_gap(state.width, merged),
        MERGED=merged,
        TOP=top,
        BLOCK=triton.next_power_of_2(top),
        num_warps=1,
        **early(),
    )


@triton.jit
def _kernel(
    lasts,
    drafteds,
    drafts,
    result,
    token,
    probability,
    starts,
    after,
    count,
    alone,
    total,
    smoothing,
    strength,
    WIDTH: tl.constexpr,
    SIZE: tl.constexpr,
    MERGED: tl.constexpr,
    TOP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait()
    gap = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    inside = i < TOP
    if tl.load(drafteds + gap) > 0:
        to = result + gap * (3 + 4 * WIDTH) + 3 + 2 * WIDTH
        row = gap * SIZE + 1
        if MERGED:
            run = tl.load(result + gap * (3 + 4 * WIDTH)) - 1
            row += WIDTH + run * WIDTH
        before = tl.load(lasts + gap)
        for mask in range(WIDTH):
            at = (row + mask) * TOP + i
            candidates = tl.load(token + at, mask=inside, other=0)
            p = tl.load(probability + at, mask=inside, other=0.0)
            together = _together(starts, after, count, before, candidates)
            share = (tl.load(alone + candidates) + 0.5) / total
            lift = (together / share + smoothing) / (tl.load(alone + before) + smoothing)
            moved = p * tl.exp(strength * tl.log(lift))
            highest, best = tl.max(moved, 0, return_indices=True)
            chance = highest / (tl.sum(moved, 0) + tl.maximum(1 - tl.sum(p, 0), 0.0))
            before = tl.sum(tl.where(i == best, candidates, 0), 0)
            tl.store(to + mask, before)
            tl.store(to + WIDTH + mask, chance.to(tl.int32, bitcast=True))
            tl.store(drafts + gap * WIDTH + mask, before)


@triton.jit
def _together(starts, after, count, before, candidates):
    """How often each candidate follows `before`, by binary search. All candidates are searched for at once, in equally
    many steps.
    """
    start, end = tl.load(starts + before), tl.load(starts + before + 1)
    low = start + tl.zeros_like(candidates)
    size = end - start
    while size > 1:
        half = size // 2
        low += tl.where(tl.load(after + low + half - 1) < candidates, half, 0)
        size -= half
    found = tl.load(after + low, mask=low < end, other=-1) == candidates
    return tl.load(count + low, mask=found, other=0)
