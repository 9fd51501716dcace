"""The first half of a low-rank update, x aᵀ, computed once in a launch: its first programs write it, and those of the
tiles of outputs read it behind their own products.

A GPU starts the programs of a launch in the order of their numbers, so those that are waited for run, or have run.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.matrix import LowRankUpdate
from dlsp_kernels.overlap import fetch, release, wait
from dlsp_kernels.project import dot

COLUMNS = tl.constexpr(16)  # of x aᵀ, that a program computes
DENSE = tl.constexpr("dense")


@dataclass(frozen=True)
class Inner:
    """Where the programs of a launch leave x aᵀ."""

    values: Tensor  # [splits, rows, columns], in the type of the products
    ready: Tensor  # int32 [splits * tiles of rows] at least: how many programs are done; 0 before the launch
    programs: int  # that compute x aᵀ, for each tile of rows and each split

    @classmethod
    def of(cls, update: LowRankUpdate, rows: int, tiles: int, splits: int, ready: Tensor | None) -> "Inner":
        """Room for x aᵀ of `rows` rows in `tiles` tiles. `ready` is zeros, made if it is not given or too short."""
        values = torch.empty(splits, rows, len(update.a), dtype=update.a.dtype, device=update.a.device)
        if ready is None or len(ready) < splits * tiles:
            ready = torch.zeros(splits * tiles, dtype=torch.int32, device=update.a.device)
        return cls(values, ready, triton.cdiv(len(update.a), COLUMNS.value))


@triton.jit
def write_inner(
    x,  # [M, K]
    a,  # [columns, K]
    canvas,  # [M]
    values,  # [M, columns]: of this split
    ready,  # of this split and tile of rows
    m,  # [BLOCK_M] the tile's rows
    number,  # of the program
    first,  # the inputs first … last - 1 are summed
    last,
    M,
    K,
    DTYPE: tl.constexpr,
    RANK: tl.constexpr,
    SHARED: tl.constexpr,  # columns of each part that count for all rows
    ALL: tl.constexpr,  # columns of x aᵀ
    BLOCK_M: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Write some columns of x aᵀ, 0 where they do not count for a row, and say so."""
    c = number * COLUMNS + tl.arange(0, COLUMNS)
    inside_m = m < M
    rows = x + m.to(tl.int64) * K
    fetch(a, c, first, last, ALL, K, DENSE, COLUMNS)
    wait()
    acc = tl.zeros([BLOCK_M, COLUMNS], tl.float32)
    for k0 in range(first, last, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K)
        inside = k < K
        tile = tl.load(rows[:, None] + k[None, :], mask=inside_m[:, None] & inside[None, :], other=0.0).to(DTYPE)
        acc = dot(tile, tl.load(a + c[None, :] * K + k[:, None], mask=inside[:, None], other=0.0), acc)
    release()
    if SHARED < RANK:
        is_canvas = tl.load(canvas + m, mask=inside_m, other=0) > 0
        acc = tl.where(is_canvas[:, None] | (c % RANK >= RANK - SHARED)[None, :], acc, 0.0)
    to = values + m.to(tl.int64)[:, None] * ALL + c[None, :]
    tl.store(to, acc.to(DTYPE), mask=inside_m[:, None])
    tl.debug_barrier()  # all threads have written
    tl.atomic_add(ready, 1, sem="release")


@triton.jit
def add_update(
    acc,  # [BLOCK_M, BLOCK_N]: the tile of the product
    b,  # [N, RANK]
    values,  # [M, columns]: of this split
    ready,  # of this split and tile of rows
    m,  # [BLOCK_M] the tile's rows
    n,  # [BLOCK_N] the tile's outputs, in any order
    part,  # index of the fused matrix (q = 0, k = 1, v = 2) from which `own` counts
    own,  # [BLOCK_N] index of each output's fused matrix, minus `part`
    M,
    N,
    WRITERS: tl.constexpr,  # programs that compute x aᵀ
    RANK: tl.constexpr,
    ALL: tl.constexpr,  # columns of x aᵀ
    PARTS: tl.constexpr,  # fused matrices in the tile
):
    """acc + (x aᵀ) bᵀ, when x aᵀ is written."""
    r = tl.arange(0, PARTS * RANK)
    mine = (r // RANK)[:, None] == own[None, :]
    out = tl.load(b + n.to(tl.int64)[None, :] * RANK + (r % RANK)[:, None], mask=mine & (n < N)[None, :], other=0.0)
    while tl.atomic_add(ready, 0, sem="acquire") < WRITERS:
        pass
    at = values + m.to(tl.int64)[:, None] * ALL + (part * RANK + r)[None, :]
    inner = tl.load(at, mask=(m < M)[:, None], other=0.0, cache_modifier=".cg")
    return acc + dot(inner, out, tl.zeros([acc.shape[0], acc.shape[1]], tl.float32))
