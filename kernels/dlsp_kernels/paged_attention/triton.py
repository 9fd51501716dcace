"""`paged_attention` as Triton kernels.

A program computes a tile of one session's rows and one key head, over a part of the keys (a split). A second launch
joins the splits. Query heads that share a key head are rows of the same tile, so each page is read once for all of
them.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.overlap import early, wait
from dlsp_kernels.packed_rows import PAGE, TILE_ROWS, PackedRows
from dlsp_kernels.project import DTYPES, dot
from dlsp_kernels.tiling import device_limits

LOG2_E = 1.4426950408889634


def paged_attention(q: Tensor, keys: Tensor, values: Tensor, rows: PackedRows, splits: int | None = None) -> Tensor:
    """See the reference. `splits` is the number of parts into which the keys are cut.

    By default it depends on the number of tiles and not on the sessions' lengths, so that a captured launch serves any
    length.
    """
    count, heads, d = q.shape
    kv_heads, tiles = keys.shape[1], len(rows.tile)
    splits = splits or max(1, min(16, 2 * device_limits()[0] // (tiles * kv_heads)))
    groups = heads // kv_heads
    block_g = max(16 // TILE_ROWS, triton.next_power_of_2(groups))
    parts = torch.empty(splits, count, heads, d, dtype=torch.float32, device=q.device)
    weight = torch.empty(splits, count, heads, dtype=torch.float32, device=q.device)
    _kernel[(tiles, kv_heads, splits)](
        q,
        keys,
        values,
        parts,
        weight,
        rows.position,
        rows.visible,
        rows.canvas,
        rows.length,
        rows.first,
        rows.count,
        rows.table,
        rows.tile,
        count,
        rows.table.shape[1],
        d**-0.5 * LOG2_E,
        DTYPE=DTYPES[q.dtype],
        KV_HEADS=kv_heads,
        GROUPS=groups,
        D=d,
        PAGE=PAGE,
        SPLITS=splits,
        BLOCK_R=TILE_ROWS,
        BLOCK_G=block_g,
        BLOCK_D=max(16, triton.next_power_of_2(d)),
        num_warps=4,
        num_stages=2,
        **early(),
    )
    out = torch.empty(count, heads * d, dtype=q.dtype, device=q.device)
    _join[(count, heads)](
        parts,
        weight,
        rows.visible,
        rows.canvas,
        out,
        count,
        D=d,
        SPLITS=splits,
        BLOCK_S=triton.next_power_of_2(splits),
        BLOCK_D=triton.next_power_of_2(d),
        num_warps=1,
        **early(),
    )
    return out


@triton.jit(do_not_specialize=["total_rows"])  # else Triton compiles a variant per kind of number
def _kernel(
    q,
    keys,
    values,
    parts,  # [splits, rows, heads, d]: each split's result, normalised
    weight,  # [splits, rows, heads]: log2 of the split's sum of exponentials
    positions,
    visibles,
    canvases,
    lengths,
    firsts,
    counts,
    table,
    tiles,
    total_rows,
    pages,  # per session
    scale,
    DTYPE: tl.constexpr,
    KV_HEADS: tl.constexpr,
    GROUPS: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    SPLITS: tl.constexpr,
    BLOCK_R: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    wait()
    tile, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    session = tl.load(tiles + 2 * tile)
    if session >= 0:
        length = tl.load(lengths + session)
        first = tl.load(firsts + session)
        count = tl.load(counts + session)
        m = tl.arange(0, BLOCK_R * BLOCK_G)
        row = tl.load(tiles + 2 * tile + 1) + m // BLOCK_G
        group = m % BLOCK_G
        is_row = row < first + count
        visible = tl.load(visibles + row, mask=is_row, other=0)
        canvas = tl.load(canvases + row, mask=is_row, other=0)
        is_query = is_row & (group < GROUPS)
        head = (row * KV_HEADS + kv_head) * GROUPS + group  # counted over all rows
        dim = tl.arange(0, BLOCK_D)
        at = head.to(tl.int64)[:, None] * D + dim[None, :]
        query = tl.load(q + at, mask=is_query[:, None] & (dim < D)[None, :], other=0.0)

        best = tl.full([BLOCK_R * BLOCK_G], -1e30, tl.float32)
        norm = tl.zeros([BLOCK_R * BLOCK_G], tl.float32)
        acc = tl.zeros([BLOCK_R * BLOCK_G, BLOCK_D], tl.float32)
        places = length + count
        share = tl.cdiv(tl.cdiv(places, PAGE), SPLITS)
        last = tl.minimum((split + 1) * share, tl.cdiv(places, PAGE))
        for number in range(split * share, last):
            page = tl.load(table + session * pages + number).to(tl.int64)
            inside = tl.arange(0, PAGE)
            place = number * PAGE + inside
            held = place < places
            new = held & (place >= length)
            other = first + place - length
            position = tl.where(new, tl.load(positions + other, mask=new, other=0), place)
            theirs = tl.load(canvases + other, mask=new, other=0)
            sees_clean = (theirs == 0)[None, :] & (position[None, :] < visible[:, None])
            sees_own = (theirs != 0)[None, :] & (theirs[None, :] == canvas[:, None])
            seen = (sees_clean | sees_own) & held[None, :]

            base = (page * KV_HEADS + kv_head) * PAGE
            kept = (base + inside)[:, None] * D + dim[None, :]
            whole = held[:, None] & (dim < D)[None, :]
            key = tl.load(keys + kept, mask=whole, other=0.0)
            value = tl.load(values + kept, mask=whole, other=0.0)
            score = dot(query, tl.trans(key), tl.zeros([BLOCK_R * BLOCK_G, PAGE], tl.float32)) * scale
            score = tl.where(seen, score, -1e30)
            higher = tl.maximum(best, tl.max(score, 1))
            p = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)
            shrink = tl.exp2(best - higher)
            norm = norm * shrink + tl.sum(p, 1)
            acc = dot(p.to(DTYPE), value, acc * shrink[:, None])
            best = higher

        to = split.to(tl.int64) * total_rows * KV_HEADS * GROUPS + head
        some = norm > 0
        sure = tl.where(some, norm, 1.0)
        tl.store(weight + to, tl.where(some, best + tl.log2(sure), -1e30), mask=is_query)
        out = parts + to[:, None] * D + dim[None, :]
        tl.store(out, acc / sure[:, None], mask=is_query[:, None] & (dim < D)[None, :])


@triton.jit(do_not_specialize=["rows"])
def _join(
    parts,
    weight,
    visibles,
    canvases,
    out,
    rows,
    D: tl.constexpr,
    SPLITS: tl.constexpr,
    BLOCK_S: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    wait()
    row, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    one = row.to(tl.int64) * heads + head
    split, dim = tl.arange(0, BLOCK_S), tl.arange(0, BLOCK_D)
    # For an unused row, no program has written parts.
    sees = tl.maximum(tl.load(visibles + row), tl.load(canvases + row)) > 0
    is_split = split < tl.where(sees, SPLITS, 0)
    at = split.to(tl.int64) * rows * heads + one
    power = tl.load(weight + at, mask=is_split, other=-1e30)
    share = tl.where(is_split & (power > -1e29), tl.exp2(power - tl.max(power, 0)), 0.0)
    mask = is_split[:, None] & (dim < D)[None, :]
    part = tl.load(parts + at[:, None] * D + dim[None, :], mask=mask, other=0.0)
    total = tl.sum(share, 0)
    joined = tl.sum(part * share[:, None], 0) / tl.where(total > 0, total, 1.0)
    tl.store(out + one * D + dim, joined.to(out.dtype.element_ty), mask=dim < D)
