"""`gated_swiglu` as a Triton kernel. The columns of a tile are pairs of gate and up, so that only silu(gate) * up is
written.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.inner import Inner, add_update, write_inner
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.overlap import early, fetch, release, wait
from dlsp_kernels.project import DTYPES, divisor, project
from dlsp_kernels.tiling import Tiling, tiling


def gated_swiglu(
    x: Tensor | Normed,
    weight: Matrix,
    eps: float,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    ready: Tensor | None = None,
    cut: Tiling | None = None,
) -> Tensor:
    """See the reference. `ready` as in `Inner`; `cut` takes the place of the tiling that `tiling` suggests."""
    rows, ff, ins = len(x), weight.outs // 2, weight.ins
    normed = isinstance(x, Normed)
    given = x.scaled if normed else x
    if canvas is None:
        update = None
    cut = cut or tiling(rows, weight)
    out = torch.empty(rows, ff, dtype=weight.dtype, device=given.device)
    down, across = triton.cdiv(rows, cut.m), triton.cdiv(2 * ff, cut.n)
    inner = Inner.of(update, rows, down, 1, ready) if update else None
    _kernel[(down, across + (inner.programs if inner else 0))](
        given,
        weight.data,
        weight.scale if weight.scale is not None else given,
        x.squares if normed else given,
        update.a if update else given,
        update.b if update else given,
        canvas if update else given,
        inner.values if inner else given,
        inner.ready if inner else given,
        out,
        rows,
        ff,
        ins,
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORMED=normed,
        WRITERS=inner.programs if inner else 0,
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
    inner,  # [M, 2 * RANK]
    ready,
    out,
    M,
    ff,
    K,
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORMED: tl.constexpr,
    WRITERS: tl.constexpr,  # programs that compute the first half of the update; 0: there is none
    RANK: tl.constexpr,
    SHARED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    HALF: tl.constexpr = BLOCK_N // 2
    number = tl.program_id(1) - WRITERS
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    if WRITERS > 0:
        ready += tl.program_id(0)
        if number < 0:
            write_inner(
                x, a, canvas, inner, ready, m, number + WRITERS, 0, K, M, K,
                DTYPE, RANK, SHARED, 2 * RANK, BLOCK_M, BLOCK_K,
            )  # fmt: skip
            return
    j = tl.arange(0, BLOCK_N)
    pair = number * HALF + j // 2
    own = j % 2  # 0 gate, 1 up
    # Pairs beyond the last one get n = 2 * ff, which is masked everywhere.
    n = tl.where(pair < ff, own * ff + pair, 2 * ff)
    fetch(data, n, 0, K, 2 * ff, K, FORMAT, BLOCK_N)
    wait()
    if NORMED:
        square = tl.load(squares + m, mask=m < M, other=0)
    acc = project(x, data, scale, m, n, 0, K, M, 2 * ff, K, FORMAT, DTYPE, BLOCK_M, BLOCK_N, BLOCK_K)
    release()
    if WRITERS > 0:
        acc = add_update(acc, b, inner, ready, m, n, 0, own, M, 2 * ff, WRITERS, RANK, 2 * RANK, 2)
    if NORMED:
        acc *= divisor(square, K, eps)[:, None]
    gate, up = tl.split(tl.reshape(acc, [BLOCK_M, HALF, 2]))
    y = gate * tl.sigmoid(gate) * up
    f = number * HALF + tl.arange(0, HALF)
    inside = (m < M)[:, None] & (f < ff)[None, :]
    tl.store(out + m.to(tl.int64)[:, None] * ff + f[None, :], y.to(DTYPE), mask=inside)
