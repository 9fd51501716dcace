"""`qkv_rope_write` as a Triton kernel.

A tile belongs to one head. Its columns are the pairs that are rotated together, and it is written straight to q or the
cache. If heads are normed, it holds the whole head.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.inner import Inner, add_update, write_inner
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.overlap import early, fetch, release, wait
from dlsp_kernels.packed_rows import PAGE, PackedRows
from dlsp_kernels.project import DTYPES, divisor, project
from dlsp_kernels.tiling import Tiling, tiling


def qkv_rope_write(
    x: Tensor | Normed,
    weight: Matrix,
    bias: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    rows: PackedRows,
    update: LowRankUpdate | None = None,
    head_norm: Tensor | None = None,
    ready: Tensor | None = None,
    cut: Tiling | None = None,
) -> Tensor:
    """See the reference. `ready` as in `Inner`; `cut` takes the place of the tiling that `tiling` suggests.

    Raises ValueError if the parts of `update` are not queries, keys and values, and if a tile holds less than a head
    that is normed.
    """
    count, (kv_heads, _, d) = len(rows), keys.shape[1:]
    heads = weight.outs // d - 2 * kv_heads
    if update and update.ends != tuple(d * end for end in (heads, heads + kv_heads, heads + 2 * kv_heads)):
        raise ValueError(f"parts that end at {update.ends} are not queries, keys and values")
    normed = isinstance(x, Normed)
    given = x.scaled if normed else x
    cut = cut or tiling(count, weight, d, whole=head_norm is not None)
    if head_norm is not None and cut.n < d:
        raise ValueError(f"a tile of {cut.n} outputs does not hold a head of {d}")
    q = torch.empty(count, heads, d, dtype=keys.dtype, device=given.device)
    a_head = triton.cdiv(d, cut.n)
    down, across = triton.cdiv(count, cut.m), a_head * (heads + 2 * kv_heads)
    inner = Inner.of(update, count, down, 1, ready) if update else None
    _kernel[(down, across + (inner.programs if inner else 0))](
        given,
        weight.data,
        weight.scale if weight.scale is not None else given,
        bias,
        x.squares if normed else given,
        head_norm if head_norm is not None else given,
        update.a if update else given,
        update.b if update else given,
        rows.canvas,
        inner.values if inner else given,
        inner.ready if inner else given,
        cos,
        sin,
        rows.position,
        rows.slot,
        q,
        keys,
        values,
        count,
        weight.ins,
        len(cos),
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORMED=normed,
        HEAD_NORM=head_norm is not None,
        WRITERS=inner.programs if inner else 0,
        RANK=update.rank if update else 0,
        SHARED=update.shared if update else 0,
        HEADS=heads,
        KV_HEADS=kv_heads,
        HALF=d // 2,
        TILES=a_head,
        PAGE=PAGE,
        BLOCK_M=cut.m,
        BLOCK_N=cut.n,
        BLOCK_K=cut.k,
        num_warps=cut.warps,
        num_stages=cut.stages,
        **early(),
    )
    return q


@triton.jit(do_not_specialize=["M"])  # else Triton compiles one variant per kind of M (1, a multiple of 16, other)
def _kernel(
    x,
    data,
    scale,
    bias,
    squares,
    head_norm,
    a,
    b,
    canvas,
    inner,  # [M, 3 * RANK]
    ready,
    cos,
    sin,
    positions,
    slots,
    q,
    keys,
    values,
    M,
    K,
    known,  # number of positions in `cos` and `sin`
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORMED: tl.constexpr,
    HEAD_NORM: tl.constexpr,
    WRITERS: tl.constexpr,  # programs that compute the first half of the update; 0: there is none
    RANK: tl.constexpr,
    SHARED: tl.constexpr,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    HALF: tl.constexpr,
    TILES: tl.constexpr,  # per head
    PAGE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    PAIRS: tl.constexpr = BLOCK_N // 2
    D: tl.constexpr = 2 * HALF
    N: tl.constexpr = (HEADS + 2 * KV_HEADS) * D
    number = tl.program_id(1) - WRITERS
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    if WRITERS > 0:
        ready += tl.program_id(0)
        if number < 0:
            write_inner(
                x, a, canvas, inner, ready, m, number + WRITERS, 0, K, M, K,
                DTYPE, RANK, SHARED, 3 * RANK, BLOCK_M, BLOCK_K,
            )  # fmt: skip
            return
    head = number // TILES
    j = tl.arange(0, BLOCK_N)
    first = number % TILES * PAIRS
    # Pairs beyond the head's last one get n = N, which is masked everywhere.
    n = tl.where(first + j // 2 < HALF, head * D + first + j // 2 + j % 2 * HALF, N)
    fetch(data, n, 0, K, N, K, FORMAT, BLOCK_N)
    wait()
    if NORMED:
        square = tl.load(squares + m, mask=m < M, other=0)
    acc = project(x, data, scale, m, n, 0, K, M, N, K, FORMAT, DTYPE, BLOCK_M, BLOCK_N, BLOCK_K)
    release()
    if WRITERS > 0:
        part = (head >= HEADS).to(tl.int32) + (head >= HEADS + KV_HEADS).to(tl.int32)
        own = tl.zeros([BLOCK_N], tl.int32)
        acc = add_update(acc, b, inner, ready, m, n, part, own, M, N, WRITERS, RANK, 3 * RANK, 1)
    if NORMED:
        acc *= divisor(square, K, eps)[:, None]
    acc += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    left, right = tl.split(tl.reshape(acc, [BLOCK_M, PAIRS, 2]))

    i = first + tl.arange(0, PAIRS)
    is_row = m < M
    inside = is_row[:, None] & (i < HALF)[None, :]
    if HEAD_NORM and head < HEADS + KV_HEADS:
        rms = tl.rsqrt((tl.sum(left * left, 1) + tl.sum(right * right, 1)) / D + eps)[:, None]
        weights = head_norm + head * D + i
        left *= rms * tl.load(weights, mask=i < HALF, other=0.0).to(tl.float32)[None, :]
        right *= rms * tl.load(weights + HALF, mask=i < HALF, other=0.0).to(tl.float32)[None, :]
    if head < HEADS + KV_HEADS:
        position = tl.load(positions + m, mask=is_row, other=0)
        position = tl.where(position < known, position, 0).to(tl.int64)
        at = position[:, None] * HALF + i[None, :]
        c = tl.load(cos + at, mask=inside, other=0.0)
        s = tl.load(sin + at, mask=inside, other=0.0)
        turned = left * c - right * s
        right = right * c + left * s
        left = turned
    if head < HEADS:
        to = q + (m.to(tl.int64) * HEADS + head) * D
    else:
        slot = tl.load(slots + m, mask=is_row, other=0).to(tl.int64)
        kv_head = (head - HEADS) % KV_HEADS
        place = ((slot // PAGE * KV_HEADS + kv_head) * PAGE + slot % PAGE) * D
        to = (keys if head < HEADS + KV_HEADS else values) + place
    to = to[:, None] + i[None, :]
    tl.store(to, left.to(DTYPE), mask=inside)
    tl.store(to + HALF, right.to(DTYPE), mask=inside)
