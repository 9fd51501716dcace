"""Norm, base, low-rank update, bias and residual in one launch; a second one adds the sums where inputs are split."""

from math import gcd

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.overlap import early, fetch, wait
from dlsp_kernels.project import DTYPES, project
from dlsp_kernels.tiling import Tiling, tiling

SUM_BLOCK = 1024

NOWHERE = 1 << 30
"""The end of a part that is none: the same for all matrices, or each would have a program of its own."""


def gated_linear(
    x: Tensor,
    weight: Matrix,
    norm: Tensor | None = None,
    eps: float = 0.0,
    bias: Tensor | None = None,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    residual: Tensor | None = None,
    cut: Tiling | None = None,
) -> Tensor:
    """See the reference. `cut` overrules the guess at how to cut the matrix. At most three fused parts, which must end
    at multiples of 16.
    """
    rows, outs, ins = len(x), weight.outs, weight.ins
    if canvas is None:
        update = None
    ends = (*(update.ends[:-1] if update else ()), NOWHERE, NOWHERE)
    whole = gcd(*ends[:-2])
    if len(ends) > 4 or whole % 16:
        raise ValueError(f"parts that end at {ends} cannot be told apart by tiles")
    cut = cut or tiling(rows, weight, whole, update.rank if update else 0, splits=norm is None and bias is None)
    k = -(-ins // (cut.k * cut.splits)) * cut.k
    splits = -(-ins // k)
    if splits > 1 and (norm is not None or bias is not None):
        raise ValueError("inputs cannot be split under a norm or with a bias")
    out = residual
    if out is None or splits > 1:
        out = torch.empty(splits, rows, outs, dtype=torch.float32, device=x.device)
    grid = (triton.cdiv(rows, cut.m), triton.cdiv(outs, cut.n), splits)
    _kernel[grid](
        x,
        weight.data,
        weight.scale if weight.scale is not None else x,
        norm if norm is not None else x,
        bias if bias is not None else x,
        update.a if update else x,
        update.b if update else x,
        canvas if update else x,
        out,
        rows,
        outs,
        ins,
        k,
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORM=norm is not None,
        BIAS=bias is not None,
        RESIDUAL=residual is not None and splits == 1,
        RANK=update.rank if update else 0,
        END0=ends[0],
        END1=ends[1],
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
        _sum[grid](out, total, rows * outs, SPLITS=splits, RESIDUAL=residual is not None, BLOCK=SUM_BLOCK, **early())
        return total
    return out if residual is not None else out[0]


@triton.jit(do_not_specialize=["M"])  # or there is a program for each kind of number
def _kernel(
    x,
    data,
    scale,
    norm,
    bias,
    a,
    b,
    canvas,
    out,  # [splits, M, N]
    M,
    N,
    K,
    share,  # inputs a split
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORM: tl.constexpr,
    BIAS: tl.constexpr,
    RESIDUAL: tl.constexpr,
    RANK: tl.constexpr,
    END0: tl.constexpr,
    END1: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    split = tl.program_id(2)
    n0 = tl.program_id(1) * BLOCK_N
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = n0 + tl.arange(0, BLOCK_N)
    part = (n0 >= END0).to(tl.int32) + (n0 >= END1).to(tl.int32)
    own = tl.zeros([BLOCK_N], tl.int32)
    first = split * share
    last = tl.minimum(first + share, K)
    fetch(data, n, first, last, N, K, FORMAT, BLOCK_N)
    wait()
    acc = project(
        x, data, scale, norm, a, b, canvas, m, n, part, own, first, last, M, N, K, eps,
        FORMAT, DTYPE, NORM, RANK, 1, BLOCK_M, BLOCK_N, BLOCK_K,
    )  # fmt: skip
    if BIAS:
        acc += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    inside = (m < M)[:, None] & (n < N)[None, :]
    at = out + (split * M + m).to(tl.int64)[:, None] * N + n[None, :]
    if RESIDUAL:
        acc += tl.load(at, mask=inside, other=0.0)
    tl.store(at, acc, mask=inside)


@triton.jit
def _sum(partial, total, size, SPLITS: tl.constexpr, RESIDUAL: tl.constexpr, BLOCK: tl.constexpr):
    wait()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < size
    acc = tl.zeros([BLOCK], tl.float32)
    for split in range(SPLITS):
        acc += tl.load(partial + split * size.to(tl.int64) + at, mask=inside, other=0.0)
    if RESIDUAL:
        acc += tl.load(total + at, mask=inside, other=0.0)
    tl.store(total + at, acc, mask=inside)
