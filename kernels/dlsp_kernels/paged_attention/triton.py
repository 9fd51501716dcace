"""`paged_attention` as Triton kernels.

A program computes a tile of one session's rows and one key head, over some of the pages. A second launch joins what
these give. Query heads that share a key head are rows of the same tile, so each page is read once for all of them.

The order of a row's sums depends on its position alone, not on what else is in the step, on the number of programs, or
on whether the row is an alternative: the keys of part i are those of the pages i, i + PARTS, i + 2 PARTS, …, and the
second launch adds the parts in turn, then the key of the row itself, wherever that is.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.overlap import early, release, wait
from dlsp_kernels.packed_rows import PAGE, TILE_ROWS, PackedRows
from dlsp_kernels.project import DTYPES, dot
from dlsp_kernels.tiling import device_limits

LOG2_E = 1.4426950408889634

# Parts of the keys, each summed by itself; a power of two. The parts that are joined at a time are fewer.
PARTS, JOINED = 64, 16


def paged_attention(q: Tensor, keys: Tensor, values: Tensor, rows: PackedRows, splits: int | None = None) -> Tensor:
    """See the reference. `splits` programs share the parts of a tile's keys.

    By default their number depends on the number of tiles and on `rows.long`, but not on the sessions' lengths, so that
    a captured launch serves any of them.
    """
    count, heads, d = q.shape
    kv_heads, tiles = keys.shape[1], len(rows.tile)
    most, waves = (PARTS, 8) if rows.long else (16, 2)
    splits = splits or max(1, min(most, waves * device_limits()[0] // (tiles * kv_heads)))
    groups = heads // kv_heads
    block_g = max(16 // TILE_ROWS, triton.next_power_of_2(groups))
    parts = torch.empty(PARTS, count, heads, d, dtype=torch.float32, device=q.device)
    weight = torch.empty(PARTS, count, heads, dtype=torch.float32, device=q.device)
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
        PARTS=PARTS,
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
        q,
        keys,
        values,
        rows.visible,
        rows.canvas,
        rows.slot,
        out,
        count,
        d**-0.5 * LOG2_E,
        KV_HEADS=kv_heads,
        D=d,
        PAGE=PAGE,
        PARTS=PARTS,
        JOINED=JOINED,
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
    parts,  # [PARTS, rows, heads, d]: each part's result, normalised
    weight,  # [PARTS, rows, heads]: log2 of the part's sum of exponentials
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
    PARTS: tl.constexpr,
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
        # Not masked by `count`: these loads then do not wait for that one.
        there = row < total_rows
        visible = tl.load(visibles + row, mask=there, other=0)
        canvas = tl.load(canvases + row, mask=there, other=0)
        here = tl.load(positions + row, mask=there, other=0)
        head = (row * KV_HEADS + kv_head) * GROUPS + group  # counted over all rows
        dim = tl.arange(0, BLOCK_D)
        at = head.to(tl.int64)[:, None] * D + dim[None, :]
        query = tl.load(q + at, mask=(there & (group < GROUPS))[:, None] & (dim < D)[None, :], other=0.0)
        is_query = (row < first + count) & (group < GROUPS)
        places = length + count
        all_pages = tl.cdiv(places, PAGE)

        for part in range(split, tl.minimum(all_pages, PARTS), SPLITS):
            best = tl.full([BLOCK_R * BLOCK_G], -1e30, tl.float32)
            norm = tl.zeros([BLOCK_R * BLOCK_G], tl.float32)
            acc = tl.zeros([BLOCK_R * BLOCK_G, BLOCK_D], tl.float32)
            for number in range(part, all_pages, PARTS):
                page = tl.load(table + session * pages + number).to(tl.int64)
                inside = tl.arange(0, PAGE)
                place = number * PAGE + inside
                held = place < places
                new = held & (place >= length)
                other = first + place - length
                position = tl.where(new, tl.load(positions + other, mask=new, other=0), place)
                theirs = tl.load(canvases + other, mask=new, other=0)
                # `_join` adds the key of a row that is not in a canvas.
                is_own = (canvas <= 0)[:, None] & (position[None, :] == here[:, None])
                sees_clean = (theirs == 0)[None, :] & (position[None, :] < visible[:, None]) & (is_own == 0)
                is_canvas = (canvas > 0)[:, None]
                sees_canvas = is_canvas & ((theirs[None, :] == canvas[:, None]) | (theirs[None, :] == -canvas[:, None]))
                seen = (sees_clean | sees_canvas) & held[None, :]

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

            to = part * (total_rows.to(tl.int64) * (KV_HEADS * GROUPS)) + head
            some = norm > 0
            sure = tl.where(some, norm, 1.0)
            tl.store(weight + to, tl.where(some, best + tl.log2(sure), -1e30), mask=is_query)
            out = parts + to[:, None] * D + dim[None, :]
            tl.store(out, acc / sure[:, None], mask=is_query[:, None] & (dim < D)[None, :])
        release()
        # Parts without pages have no weight.
        part = tl.arange(0, PARTS)
        empty = (part >= all_pages) & (part % SPLITS == split)
        to = part.to(tl.int64)[:, None] * (total_rows * KV_HEADS * GROUPS) + head[None, :]
        none = tl.full([PARTS, BLOCK_R * BLOCK_G], -1e30, tl.float32)
        tl.store(weight + to, none, mask=empty[:, None] & is_query[None, :])


@triton.jit(do_not_specialize=["rows"])
def _join(
    parts,
    weight,
    q,
    keys,
    values,
    visibles,
    canvases,
    slots,
    out,
    rows,
    scale,
    KV_HEADS: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    PARTS: tl.constexpr,
    JOINED: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    release()
    wait()
    row, head, heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    one = row.to(tl.int64) * heads + head
    dim = tl.arange(0, BLOCK_D)
    visible, canvas = tl.load(visibles + row), tl.load(canvases + row)
    # For an unused row, no program has written parts.
    sees = (visible > 0) | (canvas != 0)
    has_own = sees & (canvas <= 0)
    is_dim, is_own = dim < D, dim < tl.where(has_own, D, 0)
    slot = tl.load(slots + row).to(tl.int64)
    kept = ((slot // PAGE * KV_HEADS + head // (heads // KV_HEADS)) * PAGE + slot % PAGE) * D + dim
    query = tl.load(q + one * D + dim, mask=is_own, other=0.0).to(tl.float32)
    key = tl.load(keys + kept, mask=is_own, other=0.0).to(tl.float32)
    value = tl.load(values + kept, mask=is_own, other=0.0).to(tl.float32)
    own = tl.where(has_own, tl.sum(query * key, 0) * scale, -1e30)

    part = tl.arange(0, PARTS)
    power = tl.load(weight + part.to(tl.int64) * rows * heads + one, mask=part < tl.where(sees, PARTS, 0), other=-1e30)
    best = tl.maximum(tl.max(power, 0), own)
    own_share = tl.where(has_own, tl.exp2(own - best), 0.0)
    total = own_share
    joined = tl.zeros([BLOCK_D], tl.float32)
    for start in tl.static_range(0, PARTS, JOINED):
        part = start + tl.arange(0, JOINED)
        at = part.to(tl.int64) * rows * heads + one
        power = tl.load(weight + at, mask=part < tl.where(sees, PARTS, 0), other=-1e30)
        there = power > -1e29
        share = tl.where(there, tl.exp2(power - best), 0.0)
        kept_part = tl.load(parts + at[:, None] * D + dim[None, :], mask=there[:, None] & is_dim[None, :], other=0.0)
        total += tl.sum(share, 0)
        joined += tl.sum(kept_part * share[:, None], 0)
    joined = (joined + own_share * value) / tl.where(total > 0, total, 1.0)
    tl.store(out + one * D + dim, joined.to(out.dtype.element_ty), mask=is_dim)
