"""One program a row and head."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.overlap import early, wait
from dlsp_kernels.packed_rows import PAGE, PackedRows


def rope_write(
    qkv: Tensor, cos: Tensor, sin: Tensor, keys: Tensor, values: Tensor, rows: PackedRows, heads: int
) -> Tensor:
    """See the reference."""
    kv_heads, d = keys.shape[1], keys.shape[3]
    q = torch.empty(len(rows), heads, d, dtype=keys.dtype, device=qkv.device)
    _kernel[(len(rows), heads + 2 * kv_heads)](
        qkv,
        cos,
        sin,
        rows.position,
        rows.slot,
        q,
        keys,
        values,
        len(cos),
        HEADS=heads,
        KV_HEADS=kv_heads,
        HALF=d // 2,
        PAGE=PAGE,
        BLOCK=triton.next_power_of_2(d // 2),
        num_warps=1,
        **early(),
    )
    return q


@triton.jit
def _kernel(
    qkv,
    cos,
    sin,
    positions,
    slots,
    q,
    keys,
    values,
    known,  # positions in the tables
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    HALF: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait()
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    D: tl.constexpr = 2 * HALF
    i = tl.arange(0, BLOCK)
    inside = i < HALF
    at = qkv + (row * (HEADS + 2 * KV_HEADS) + head) * D + i
    left = tl.load(at, mask=inside, other=0.0).to(tl.float32)
    right = tl.load(at + HALF, mask=inside, other=0.0).to(tl.float32)
    position = tl.load(positions + row)
    position = tl.where(position < known, position, 0).to(tl.int64)
    if head < HEADS + KV_HEADS:
        c = tl.load(cos + position * HALF + i, mask=inside, other=0.0)
        s = tl.load(sin + position * HALF + i, mask=inside, other=0.0)
        turned = left * c - right * s
        right = right * c + left * s
        left = turned
    if head < HEADS:
        to = q + (row * HEADS + head) * D
    else:
        slot = tl.load(slots + row).to(tl.int64)
        kv_head = (head - HEADS) % KV_HEADS
        place = ((slot // PAGE * KV_HEADS + kv_head) * PAGE + slot % PAGE) * D
        to = (keys if head < HEADS + KV_HEADS else values) + place
    tl.store(to + i, left.to(to.dtype.element_ty), mask=inside)
    tl.store(to + HALF + i, right.to(to.dtype.element_ty), mask=inside)
