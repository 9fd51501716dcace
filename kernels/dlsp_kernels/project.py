"""The common part of all kernels with a weight matrix: one tile of x times the matrix, with norm and
low-rank update.
"""

import torch
import triton
import triton.language as tl

# Triton's interpreter can neither multiply bf16 nor convert integers to it.
INTERPRETED = tl.constexpr(bool(triton.knobs.runtime.interpret))

DTYPES = {torch.float32: tl.float32, torch.bfloat16: tl.bfloat16}


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
def project(
    x,  # [M, K]: float32 before a norm, else float32 or DTYPE
    data,
    scale,
    norm,  # [K]
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
    NORM: tl.constexpr,
    RANK: tl.constexpr,  # 0: no update
    PARTS: tl.constexpr,  # parts in one tile
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """norm(x) wᵀ for one tile, with the low-rank update on canvas rows -> float32 [BLOCK_M, BLOCK_N].

    The norm's divisor is known only after all of a row has been read. It is applied at the end: dividing a row by a
    number commutes with the product. The update may likewise be split along the inputs, because it is linear as well.
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
    square = tl.zeros([BLOCK_M], tl.float32)
    for k0 in range(first, last, BLOCK_K):
        for half in tl.static_range(HALVES):
            k = k0 + half * STEP + tl.arange(0, STEP)
            inside = k < K
            tile = tl.load(rows[:, None] + k[None, :], mask=inside_m[:, None] & inside[None, :], other=0.0)
            if NORM:
                square += tl.sum(tile * tile, 1)
                tile = tile * tl.load(norm + k, mask=inside, other=0.0).to(tl.float32)[None, :]
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
        gate = tl.load(canvas + m, mask=inside_m, other=0) > 0
        mine = (r // RANK)[:, None] == own[None, :]
        out = tl.load(
            b + n.to(tl.int64)[None, :] * RANK + (r % RANK)[:, None], mask=mine & inside_n[None, :], other=0.0
        )
        update = dot(low.to(DTYPE), out, tl.zeros([BLOCK_M, BLOCK_N], tl.float32))
        acc += tl.where(gate[:, None], update, 0.0)
    if NORM:
        acc *= tl.rsqrt(square / K + eps)[:, None]
    return acc
