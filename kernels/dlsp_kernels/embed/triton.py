"""`embed` as a Triton kernel, with one program per row."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.overlap import early, wait


def embed(token: Tensor, embedding: Tensor, mask: Tensor) -> Tensor:
    """See the reference."""
    rows, dim = len(token), embedding.shape[1]
    out = torch.empty(rows, dim, dtype=torch.float32, device=token.device)
    _kernel[(rows,)](token, embedding, mask, out, dim, BLOCK=triton.next_power_of_2(dim), **early())
    return out


@triton.jit
def _kernel(token, embedding, mask, out, dim, BLOCK: tl.constexpr):
    wait()
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    number = tl.load(token + row).to(tl.int64)
    embedded = tl.load(embedding + tl.maximum(number, 0) * dim + i, mask=i < tl.where(number >= 0, dim, 0), other=0.0)
    masked = tl.load(mask + i, mask=i < tl.where(number < 0, dim, 0), other=0.0)
    tl.store(out + row * dim + i, embedded.to(tl.float32) + masked.to(tl.float32), mask=i < dim)
