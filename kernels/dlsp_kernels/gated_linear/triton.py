"""`gated_linear` as a Triton kernel, in one launch. If the inputs are split, a second launch adds the sums of the
splits.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.overlap import early, fetch, wait
from dlsp_kernels.project import DTYPES, project
from dlsp_kernels.tiling import Tiling, tiling

SUM_BLOCK = 1024


def gated_linear(
    x: Tensor,
    weight: Matrix,
    norm: Tensor | None = None,
    eps: float = 0.0,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    residual: Tensor | None = None,
    bias: Tensor | None = None,
    gelu: bool = False,
    cut: Tiling | None = None,
) -> Tensor:
    """See the reference. `cut` takes the place of the tiling that `tiling` suggests.

    Raises ValueError for an update of a fused projection, and for inputs that are split although there is a norm
    or GELU.
    """
    rows, outs, ins = len(x), weight.outs, weight.ins
    if canvas is None:
        update = None
    if update and len(update.ends) > 1:
        raise ValueError(f"parts that end at {update.ends} cannot be told apart")
    cut = cut or tiling(rows, weight, low=update.rank if update else 0, splits=norm is None and not gelu)
    k = -(-ins // (cut.k * cut.splits)) * cut.k
    splits = -(-ins // k)
    if splits > 1 and (norm is not None or gelu):
        raise ValueError("inputs cannot be split under a norm or GELU")
    out = residual
    if out is None or splits > 1:
        out = torch.empty(splits, rows, outs, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(rows, cut.m), triton.cdiv(outs, cut.n), splits)
    _kernel[grid](
        x,
        weight.data,
        weight.scale if weight.scale is not None else x,
        norm if norm is not None else x,
        update.a if update else x,
        update.b if update else x,
        canvas if update else x,
        bias if bias is not None else x,
        out,
        rows,
        outs,
        ins,
        k,
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORM=norm is not None,
        RESIDUAL=residual is not None and splits == 1,
        BIAS=bias is not None and splits == 1,
        GELU=gelu,
        RANK=update.rank if update else 0,
        BLOCK_M=cut.m,
        BLOCK_N=cut.n,
        BLOCK_K=cut.k,
        num_warps=cut.warps,
        num_stages=cut.stages,
        **early(),
    )
    if splits > 1:
        total = residual if residual is not None else torch.empty(rows, outs, dtype=torch.float32, device=x.device)
        grid = (triton.cdiv(rows * outs, SUM_BLOCK),)
        _sum[grid](
            out,
            total,
            bias if bias is not None else x,
            rows * outs,
            outs,
            SPLITS=splits,
            RESIDUAL=residual is not None,
            BIAS=bias is not None,
            BLOCK=SUM_BLOCK,
            **early(),
        )
        return total
    return out if residual is not None else out[0]


@triton.jit(do_not_specialize=["M"])  # else Triton compiles one variant per kind of M (1, a multiple of 16, other)
def _kernel(
    x,
    data,
    scale,
    norm,
    a,
    b,
    canvas,
    bias,
    out,  # [splits, M, N]
    M,
    N,
    K,
    share,  # inputs per split
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORM: tl.constexpr,
    RESIDUAL: tl.constexpr,
    BIAS: tl.constexpr,
    GELU: tl.constexpr,
    RANK: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    split = tl.program_id(2)
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    own = tl.zeros([BLOCK_N], tl.int32)
    first = split * share
    last = tl.minimum(first + share, K)
    fetch(data, n, first, last, N, K, FORMAT, BLOCK_N)
    wait()
    acc = project(
        x, data, scale, norm, a, b, canvas, m, n, 0, own, first, last, M, N, K, eps,
        FORMAT, DTYPE, NORM, RANK, 1, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    if BIAS:
        acc += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if GELU:  # 1 + tanh(u) is twice sigmoid(2 u)
        acc *= tl.sigmoid(1.5957691216057308 * (acc + 0.044715 * acc * acc * acc))
    inside = (m < M)[:, None] & (n < N)[None, :]
    at = out + (split * M + m).to(tl.int64)[:, None] * N + n[None, :]
    if RESIDUAL:
        acc += tl.load(at, mask=inside, other=0.0)
    tl.store(at, acc, mask=inside)


@triton.jit
def _sum(
    partial,
    total,
    bias,
    size,
    N,
    SPLITS: tl.constexpr,
    RESIDUAL: tl.constexpr,
    BIAS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    wait()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    acc = tl.zeros([BLOCK], tl.float32)
    for split in range(SPLITS):
        acc += tl.load(partial + split * size.to(tl.int64) + at, mask=inside, other=0.0)
    if BIAS:
        acc += tl.load(bias + at % N, mask=inside, other=0.0).to(tl.float32)
    if RESIDUAL:
        acc += tl.load(total + at, mask=inside, other=0.0)
    tl.store(total + at, acc, mask=inside)
