"""`gated_linear` as a Triton kernel, in one launch. If the inputs are split, a second launch adds the sums of the
splits.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.inner import Inner, add_update, write_inner
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.overlap import early, fetch, release, wait
from dlsp_kernels.project import DTYPES, divisor, project, squares_of
from dlsp_kernels.tiling import Tiling, tiling

SUM_BLOCK = 256


def gated_linear(
    x: Tensor | Normed,
    weight: Matrix,
    eps: float = 0.0,
    update: LowRankUpdate | None = None,
    canvas: Tensor | None = None,
    residual: Tensor | None = None,
    bias: Tensor | None = None,
    gelu: bool = False,
    into: Normed | None = None,
    ready: Tensor | None = None,
    cut: Tiling | None = None,
) -> Tensor:
    """See the reference. `ready` as in `Inner`; `cut` takes the place of the tiling that `tiling` suggests.

    Raises ValueError for an update of a fused projection, and for inputs that are split although there is a norm
    or GELU.
    """
    rows, outs, ins = len(x), weight.outs, weight.ins
    normed = isinstance(x, Normed)
    given = x.scaled if normed else x
    if canvas is None:
        update = None
    if update and len(update.ends) > 1:
        raise ValueError(f"parts that end at {update.ends} cannot be told apart")
    cut = cut or tiling(rows, weight, splits=not (normed or gelu))
    k = -(-ins // (cut.k * cut.splits)) * cut.k
    splits = -(-ins // k)
    if splits > 1 and (normed or gelu):
        raise ValueError("inputs cannot be split under a norm or GELU")
    out = residual
    if out is None or splits > 1:
        out = torch.empty(splits, rows, outs, dtype=torch.float32, device=given.device)
    following = (into.norm, into.scaled, into.squares) if into else (out, out, out)
    down, across = triton.cdiv(rows, cut.m), triton.cdiv(outs, cut.n)
    inner = Inner.of(update, rows, down, splits, ready) if update else None
    grid = (down, across + (inner.programs if inner else 0), splits)
    _kernel[grid](
        given,
        weight.data,
        weight.scale if weight.scale is not None else given,
        x.squares if normed else given,
        update.a if update else given,
        update.b if update else given,
        canvas if update else given,
        inner.values if inner else given,
        inner.ready if inner else given,
        bias if bias is not None else given,
        out,
        *following,
        rows,
        outs,
        ins,
        k,
        eps,
        FORMAT=weight.format,
        DTYPE=DTYPES[weight.dtype],
        NORMED=normed,
        RESIDUAL=residual is not None and splits == 1,
        BIAS=bias is not None and splits == 1,
        GELU=gelu,
        INTO=into is not None and splits == 1,
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
    if splits > 1:
        total = residual if residual is not None else torch.empty(rows, outs, dtype=torch.float32, device=given.device)
        _sum[(rows, triton.cdiv(outs, SUM_BLOCK))](
            out,
            total,
            bias if bias is not None else given,
            *following,
            rows,
            outs,
            SPLITS=splits,
            RESIDUAL=residual is not None,
            BIAS=bias is not None,
            INTO=into is not None,
            BLOCK=SUM_BLOCK,
            num_warps=2,
            **early(),
        )
        return total
    return out if residual is not None else out[0]


@triton.jit(do_not_specialize=["M"])  # else Triton compiles one variant per kind of M (1, a multiple of 16, other)
def _kernel(
    x,
    data,
    scale,
    squares,
    a,
    b,
    canvas,
    inner,  # [splits, M, RANK]
    ready,
    bias,
    out,  # [splits, M, N]
    next_norm,
    next_scaled,
    next_squares,
    M,
    N,
    K,
    share,  # inputs per split
    eps,
    FORMAT: tl.constexpr,
    DTYPE: tl.constexpr,
    NORMED: tl.constexpr,
    RESIDUAL: tl.constexpr,
    BIAS: tl.constexpr,
    GELU: tl.constexpr,
    INTO: tl.constexpr,
    WRITERS: tl.constexpr,  # programs that compute the first half of the update; 0: there is none
    RANK: tl.constexpr,
    SHARED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    split, number = tl.program_id(2), tl.program_id(1) - WRITERS
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    first = split * share
    last = tl.minimum(first + share, K)
    if WRITERS > 0:
        inner += split * M.to(tl.int64) * RANK
        ready += split * tl.num_programs(0) + tl.program_id(0)
        if number < 0:
            write_inner(
                x, a, canvas, inner, ready, m, number + WRITERS, first, last, M, K,
                DTYPE, RANK, SHARED, RANK, BLOCK_M, BLOCK_K,
            )  # fmt: skip
            return
    n = number * BLOCK_N + tl.arange(0, BLOCK_N)
    fetch(data, n, first, last, N, K, FORMAT, BLOCK_N)
    wait()
    if NORMED:
        square = tl.load(squares + m, mask=m < M, other=0)
    acc = project(x, data, scale, m, n, first, last, M, N, K, FORMAT, DTYPE, BLOCK_M, BLOCK_N, BLOCK_K)
    release()
    if WRITERS > 0:
        own = tl.zeros([BLOCK_N], tl.int32)
        acc = add_update(acc, b, inner, ready, m, n, 0, own, M, N, WRITERS, RANK, RANK, 1)
    if NORMED:
        acc *= divisor(square, K, eps)[:, None]
    if BIAS:
        acc += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if GELU:  # 1 + tanh(u) is twice sigmoid(2 u)
        acc *= tl.sigmoid(1.5957691216057308 * (acc + 0.044715 * acc * acc * acc))
    inside = (m < M)[:, None] & (n < N)[None, :]
    at = out + (split * M + m).to(tl.int64)[:, None] * N + n[None, :]
    if RESIDUAL:
        acc += tl.load(at, mask=inside, other=0.0)
    tl.store(at, acc, mask=inside)
    if INTO:
        weight = tl.load(next_norm + n, mask=n < N, other=0.0)
        to = next_scaled + m.to(tl.int64)[:, None] * N + n[None, :]
        tl.store(to, (acc * weight[None, :]).to(DTYPE), mask=inside)
        own_squares = tl.sum(squares_of(tl.where(inside, acc, 0.0)), 1)
        tl.atomic_add(next_squares + m, own_squares, mask=m < M, sem="relaxed")


@triton.jit(do_not_specialize=["M"])
def _sum(
    partial,  # [SPLITS, M, N]
    total,  # [M, N]
    bias,
    next_norm,
    next_scaled,
    next_squares,
    M,
    N,
    SPLITS: tl.constexpr,
    RESIDUAL: tl.constexpr,
    BIAS: tl.constexpr,
    INTO: tl.constexpr,
    BLOCK: tl.constexpr,
):
    release()
    wait()
    row = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = n < N
    at = row * N + n
    acc = tl.zeros([BLOCK], tl.float32)
    for split in tl.static_range(SPLITS):
        acc += tl.load(partial + split * M.to(tl.int64) * N + at, mask=inside, other=0.0)
    if BIAS:
        acc += tl.load(bias + n, mask=inside, other=0.0).to(tl.float32)
    if RESIDUAL:
        acc += tl.load(total + at, mask=inside, other=0.0)
    tl.store(total + at, acc, mask=inside)
    if INTO:
        weight = tl.load(next_norm + n, mask=inside, other=0.0)
        tl.store(next_scaled + at, (acc * weight).to(next_scaled.dtype.element_ty), mask=inside)
        tl.atomic_add(next_squares + row, tl.sum(squares_of(acc), 0), sem="relaxed")
