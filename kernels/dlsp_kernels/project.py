"""The common part of all kernels with a weight matrix: one tile of x times the matrix, with the division of an RMSNorm
and a low-rank update.
"""

import torch
import triton
import triton.language as tl

from dlsp_kernels.normed import UNIT

# Triton's interpreter can neither multiply bf16 nor convert integers to it.
INTERPRETED = tl.constexpr(bool(triton.knobs.runtime.interpret))

DTYPES = {torch.float32: tl.float32, torch.bfloat16: tl.bfloat16}

A_UNIT = tl.constexpr(UNIT)


@triton.jit
def dot(a, b, acc):
    """acc + a b in float32. Products of float32 are exact, not tf32."""
    if INTERPRETED:
        return tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")
    else:
        return tl.dot(a, b, acc, input_precision="ieee")


@triton.jit
def unpacked(stored, half: tl.constexpr, FORMAT: tl.constexpr, DTYPE: tl.constexpr):
    """Stored weights -> their values before scaling, which bf16 represents exactly for all formats. `half`: for int4,
    the low (0) or high (1) bits.
    """
    if FORMAT == "int8":
        return stored.to(tl.float32).to(DTYPE)
    elif FORMAT == "fp8":
        # e4m3 bits moved to where float32 has them; the exponents' biases differ by 120. Any GPU can do that.
        bits = stored.to(tl.int32)
        moved = ((bits & 0x80) << 24) | ((bits & 0x7F) << 20)
        return (moved.to(tl.float32, bitcast=True) * 1.329227995784916e36).to(DTYPE)
    elif FORMAT == "int4":
        return (((stored.to(tl.int32) >> (4 * half)) & 15) - 8).to(tl.float32).to(DTYPE)
    else:
        return stored


@triton.jit
def squares_of(x):
    """The squares of x in UNIT, whole numbers."""
    return (x * x * (1 / A_UNIT)).to(tl.int64)


@triton.jit
def project(
    x,  # [M, K]: float32 or DTYPE
    data,
    scale,
    squares,  # [M], if x is `Normed.scaled`
    a,
    b,
    canvas,  # [M]
    m,  # [BLOCK_M] the tile's rows
    n,  # [BLOCK_N] the tile's outputs, in any order
    part,  # index of the fused matrix (q = 0, k = 1, v = 2) from which `own` counts
    own,  # [BLOCK_N] index of each output's fused matrix, minus `part`
    first,  # the inputs first … last - 1 are summed
    last,
    M,
    N,
    K,
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORMED: tl.constexpr,
    RANK: tl.constexpr,  # 0: no update
    SHARED: tl.constexpr,  # columns of the update that count for all rows
    PARTS: tl.constexpr,  # parts in one tile
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """x wᵀ for one tile, with the low-rank update on canvas rows -> float32 [BLOCK_M, BLOCK_N]. If x is
    `Normed.scaled`, its rows are divided at the end. All of this may be split along the inputs, because it is linear.

    A row's sums do not depend on the other rows, nor on whether there is an update.
    """
    HALVES: tl.constexpr = 2 if FORMAT == "int4" else 1
    STEP: tl.constexpr = BLOCK_K // HALVES
    LOW: tl.constexpr = PARTS * RANK if RANK > 0 else 16
    inside_m, inside_n = m < M, n < N
    rows = x + m.to(tl.int64) * K
    weights = data + n.to(tl.int64) * (K // HALVES)
    r = tl.arange(0, LOW)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    low = tl.zeros([BLOCK_M, LOW], tl.float32)
    if NORMED:
        square = tl.load(squares + m, mask=inside_m, other=0)
    for k0 in range(first, last, BLOCK_K):
        for half in tl.static_range(HALVES):
            k = k0 + half * STEP + tl.arange(0, STEP)
            inside = k < K
            tile = tl.load(rows[:, None] + k[None, :], mask=inside_m[:, None] & inside[None, :], other=0.0)
            tile = tile.to(DTYPE)
            at = k0 // HALVES + tl.arange(0, STEP)
            stored = tl.load(weights[None, :] + at[:, None], mask=inside[:, None] & inside_n[None, :], other=0)
            if FORMAT == "int4":
                group = tl.load(scale + n.to(tl.int64) * (K // BLOCK_K) + k0 // BLOCK_K, mask=inside_n, other=0.0)
                product = dot(tile, unpacked(stored, half, FORMAT, DTYPE), tl.zeros([BLOCK_M, BLOCK_N], tl.float32))
                acc += product * group[None, :]
            else:
                acc = dot(tile, unpacked(stored, half, FORMAT, DTYPE), acc)
            if RANK > 0:
                into = tl.load(a + (part * RANK + r)[None, :] * K + k[:, None], mask=inside[:, None], other=0.0)
                low = dot(tile, into, low)
    if FORMAT == "int8" or FORMAT == "fp8":
        acc *= tl.load(scale + n, mask=inside_n, other=0.0)[None, :]
    if RANK > 0:
        if SHARED < RANK:
            is_canvas = tl.load(canvas + m, mask=inside_m, other=0) > 0
            low = tl.where(is_canvas[:, None] | (r % RANK >= RANK - SHARED)[None, :], low, 0.0)
        mine = (r // RANK)[:, None] == own[None, :]
        out = tl.load(
            b + n.to(tl.int64)[None, :] * RANK + (r % RANK)[:, None], mask=mine & inside_n[None, :], other=0.0
        )
        acc += dot(low.to(DTYPE), out, tl.zeros([BLOCK_M, BLOCK_N], tl.float32))
    if NORMED:
        acc *= tl.rsqrt(square.to(tl.float32) * (A_UNIT / K) + eps)[:, None]
    return acc
