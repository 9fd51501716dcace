"""`gated_swiglu` as a Triton kernel. The columns of a tile are pairs of gate and up, so that only silu(gate) * up is
written.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.overlap import early, fetch, wait
from dlsp_kernels.project import DTYPES, project
from dlsp_kernels.tiling import Tiling, tiling


def gated_swiglu(
    x: Tensor | Normed,
    weight: Matrix,
    eps: float,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    cut: Tiling | None = None,
) -> Tensor:
    """See the reference. `cut` takes the place of the tiling that `tiling` suggests."""
    rows, ff, ins = len(x), weight.outs // 2, weight.ins
    normed = isinstance(x, Normed)
    given = x.scaled if normed else x
    if canvas is None:
        update = None
    cut = cut or tiling(rows, weight, low=2 * update.rank if update else 0)
    out = torch.empty(rows, ff, dtype=weight.dtype, device=given.device)
    grid = (triton.cdiv(rows, cut.m), triton.cdiv(2 * ff, cut.n))
    _kernel[grid](
        given,
        weight.data,
        weight.scale if weight.scale is not None else given,
        x.squares if normed else given,
        update.a if update else given,
        update.b if update else given,
        canvas if update else given,
        out,
        rows,
        ff,
        ins,
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORMED=normed,
        RANK=update.rank if update else 0,
        SHARED=update.shared if update else 0,
        BLOCK_M=cut.m,
        BLOCK_N=cut.n,
        BLOCK_K=cut.k,
        num_warps=cut.warps,
        num_stages=cut.stages,
        **early(),
    )
    return out


@triton.jit(do_not_specialize=["M"])  # else Triton compiles one variant per kind of M (1, a multiple of 16, other)
def _kernel(
    x,
    data,
    scale,
    squares,
    a,
    b,
    canvas,
    out,
    M,
    ff,
    K,
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORMED: tl.constexpr,
    RANK: tl.constexpr,
    SHARED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    HALF: tl.constexpr = BLOCK_N // 2
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.arange(0, BLOCK_N)
    pair = tl.program_id(1) * HALF + j // 2
    own = j % 2  # 0 gate, 1 up
    # Pairs beyond the last one get n = 2 * ff, which is masked everywhere.
    n = tl.where(pair < ff, own * ff + pair, 2 * ff)
    fetch(data, n, 0, K, 2 * ff, K, FORMAT, BLOCK_N)
    wait()
    acc = project(
        x, data, scale, squares, a, b, canvas, m, n, 0, own, 0, K, M, 2 * ff, K, eps,
        FORMAT, DTYPE, NORMED, RANK, SHARED, 2, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    gate, up = tl.split(tl.reshape(acc, [BLOCK_M, HALF, 2]))
    y = gate * tl.sigmoid(gate) * up
    f = tl.program_id(1) * HALF + tl.arange(0, HALF)
    inside = (m < M)[:, None] & (f < ff)[None, :]
    tl.store(out + m.to(tl.int64)[:, None] * ff + f[None, :], y.to(DTYPE), mask=inside)
