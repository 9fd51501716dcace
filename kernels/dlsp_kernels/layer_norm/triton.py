"""`layer_norm` as a Triton kernel, with one program per row."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.overlap import early, wait


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """See the reference."""
    rows, dim = x.shape
    out = torch.empty(rows, dim, dtype=torch.float32, device=x.device)
    _kernel[(rows,)](x, weight, bias, out, dim, eps, BLOCK=triton.next_power_of_2(dim), num_warps=4, **early())
    return out


@triton.jit
def _kernel(x, weight, bias, out, dim, eps, BLOCK: tl.constexpr):
    wait()
    row = tl.program_id(0).to(tl.int64) * dim
    i = tl.arange(0, BLOCK)
    inside = i < dim
    own = tl.load(x + row + i, mask=inside, other=0.0)
    centred = tl.where(inside, own - tl.sum(own, 0) / dim, 0.0)
    scaled = centred * tl.rsqrt(tl.sum(centred * centred, 0) / dim + eps)
    w = tl.load(weight + i, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(bias + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row + i, scaled * w + b, mask=inside)
