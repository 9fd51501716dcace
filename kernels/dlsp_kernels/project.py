"""The common part of all kernels with a weight matrix: a tile of x times the matrix, and the division of an RMSNorm."""

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
    m,  # [BLOCK_M] the tile's rows
    n,  # [BLOCK_N] the tile's outputs, in any order
    first,  # the inputs first … last - 1 are summed
    last,
    M,
    N,
    K,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """x wᵀ for one tile -> float32 [BLOCK_M, BLOCK_N]. It may be split along the inputs. A row's sums do not depend on
    the other rows.
    """
    HALVES: tl.constexpr = 2 if FORMAT == "int4" else 1
    STEP: tl.constexpr = BLOCK_K // HALVES
    inside_m, inside_n = m < M, n < N
    rows = x + m.to(tl.int64) * K
    weights = data + n.to(tl.int64) * (K // HALVES)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
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
    if FORMAT == "int8" or FORMAT == "fp8":
        acc *= tl.load(scale + n, mask=inside_n, other=0.0)[None, :]
    return acc


@triton.jit
def divisor(square, K, eps):
    """What an RMSNorm divides rows by, 1 over it, given the sums of their squares in UNIT: float32 [rows]."""
    return tl.rsqrt(square.to(tl.float32) * (A_UNIT / K) + eps)
