"""`row_norm` as a Triton kernel, with one program per row."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.overlap import early, release, wait


def row_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float, dtype: torch.dtype) -> Tensor:
    """See the reference."""
    rows, dim = x.shape
    out = torch.empty(rows, dim, dtype=dtype, device=x.device)
    _kernel[(rows,)](
        x,
        weight,
        bias if bias is not None else x,
        out,
        dim,
        eps,
        CENTRED=bias is not None,
        BLOCK=triton.next_power_of_2(dim),
        num_warps=4,
        **early(),
    )
    return out


@triton.jit
def _kernel(x, weight, bias, out, dim, eps, CENTRED: tl.constexpr, BLOCK: tl.constexpr):
    release()
    wait()
    row = tl.program_id(0).to(tl.int64) * dim
    i = tl.arange(0, BLOCK)
    inside = i < dim
    own = tl.load(x + row + i, mask=inside, other=0.0)
    if CENTRED:
        own = tl.where(inside, own - tl.sum(own, 0) / dim, 0.0)
    scaled = own * tl.rsqrt(tl.sum(own * own, 0) / dim + eps)
    scaled *= tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
    if CENTRED:
        scaled += tl.load(bias + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + i, scaled.to(out.dtype.element_ty), mask=inside)
