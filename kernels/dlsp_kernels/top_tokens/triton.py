"""`top_tokens` as Triton kernels.

Each program reduces one tile of the vocabulary, and a second launch joins the tiles. No tensor [rows, vocab] is stored.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.matrix import Matrix
from dlsp_kernels.overlap import early, fetch, wait
from dlsp_kernels.project import DTYPES, project
from dlsp_kernels.tiling import Tiling, tiling
from dlsp_kernels.top_tokens.reference import TopTokens


def top_tokens(
    x: Tensor,
    weight: Matrix,
    norm: Tensor | None,
    eps: float,
    top: int = 1,
    cut: Tiling | None = None,
) -> TopTokens:
    """See the reference. Between equal logits, the lower token comes first. `cut` takes the place of the tiling that
    `tiling` suggests.
    """
    rows = len(x)
    cut = cut or tiling(rows, weight)
    tiles = triton.cdiv(weight.outs, cut.n)
    best = torch.empty(rows, tiles, top, dtype=torch.float32, device=x.device)
    best_token = torch.empty(rows, tiles, top, dtype=torch.int32, device=x.device)
    sums = torch.empty(rows, tiles, 2, dtype=torch.float32, device=x.device)
    _tiles[(triton.cdiv(rows, cut.m), tiles)](
        x,
        weight.data,
        weight.scale if weight.scale is not None else x,
        norm if norm is not None else x,
        best,
        best_token,
        sums,
        rows,
        weight.outs,
        weight.ins,
        tiles,
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORM=norm is not None,
        TOP=top,
        BLOCK_M=cut.m,
        BLOCK_N=cut.n,
        BLOCK_K=cut.k,
        num_warps=cut.warps,
        num_stages=cut.stages,
        **early(),
    )
    token = torch.empty(rows, top, dtype=torch.int32, device=x.device)
    probability = torch.empty(rows, top, dtype=torch.float32, device=x.device)
    entropy = torch.empty(rows, dtype=torch.float32, device=x.device)
    _join[(rows,)](
        best,
        best_token,
        sums,
        token,
        probability,
        entropy,
        tiles,
        TOP=top,
        BLOCK=triton.next_power_of_2(tiles * top),
        num_warps=8,
        **early(),
    )
    return TopTokens(token, probability, entropy)


@triton.jit(do_not_specialize=["M"])  # else Triton compiles one variant per kind of M (1, a multiple of 16, other)
def _tiles(
    x,
    data,
    scale,
    norm,
    best,  # [M, tiles, TOP]
    best_token,
    sums,  # [M, tiles, 2]: of exp(l - best), and of that times (l - best)
    M,
    N,
    K,
    tiles,
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORM: tl.constexpr,
    TOP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    tile = tl.program_id(1)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile * BLOCK_N + tl.arange(0, BLOCK_N)
    own = tl.zeros([BLOCK_N], tl.int32)
    fetch(data, n, 0, K, N, K, FORMAT, BLOCK_N)
    wait()
    logits = project(
        x, data, scale, norm, x, x, x, m, n, 0, own, 0, K, M, N, K, eps,
        FORMAT, DTYPE, NORM, 0, 1, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    is_row = m < M
    real = is_row[:, None] & (n < N)[None, :]
    logits = tl.where(real, logits, float("-inf"))
    highest = tl.max(logits, 1)
    base = tl.where(highest > float("-inf"), highest, 0.0)
    below = tl.where(real, logits - base[:, None], 0.0)
    share = tl.where(real, tl.exp(below), 0.0)
    to = m.to(tl.int64) * tiles + tile
    tl.store(sums + 2 * to, tl.sum(share, 1), mask=is_row)
    tl.store(sums + 2 * to + 1, tl.sum(share * below, 1), mask=is_row)
    for rank in tl.static_range(TOP):
        value, column = tl.max(logits, 1, return_indices=True)
        tl.store(best + to * TOP + rank, value, mask=is_row)
        tl.store(best_token + to * TOP + rank, tile * BLOCK_N + column, mask=is_row)
        logits = tl.where(tl.arange(0, BLOCK_N)[None, :] == column[:, None], float("-inf"), logits)


@triton.jit
def _join(best, best_token, sums, token, probability, entropy, tiles, TOP: tl.constexpr, BLOCK: tl.constexpr):
    wait()
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    inside = i < tiles * TOP
    value = tl.load(best + row * tiles * TOP + i, mask=inside, other=float("-inf"))
    highest = tl.max(value, 0)
    # Only the lane of a tile's best token takes the tile's sums.
    lead = inside & (i % TOP == 0) & (value > float("-inf"))
    gap = tl.where(lead, value - highest, 0.0)
    factor = tl.where(lead, tl.exp(gap), 0.0)
    exps = tl.load(sums + 2 * (row * tiles + i // TOP), mask=lead, other=0.0)
    moments = tl.load(sums + 2 * (row * tiles + i // TOP) + 1, mask=lead, other=0.0)
    total = tl.sum(factor * exps, 0)
    moment = tl.sum(factor * (moments + gap * exps), 0)
    tl.store(entropy + row, tl.log(total) - moment / total)
    for rank in tl.static_range(TOP):
        one, at = tl.max(value, 0, return_indices=True)
        tl.store(token + row * TOP + rank, tl.load(best_token + row * tiles * TOP + at))
        tl.store(probability + row * TOP + rank, tl.exp(one - highest) / total)
        value = tl.where(i == at, float("-inf"), value)
