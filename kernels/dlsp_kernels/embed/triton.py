"""`embed` as a Triton kernel, with one program per row."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from dlsp_kernels.normed import Normed
from dlsp_kernels.overlap import early, release, wait
from dlsp_kernels.project import squares_of


def embed(token: Tensor, embedding: Tensor, mask: Tensor, into: Normed | None = None) -> Tensor:
    """See the reference."""
    rows, dim = len(token), embedding.shape[1]
    out = torch.empty(rows, dim, dtype=torch.float32, device=token.device)
    _kernel[(rows,)](
        token,
        embedding,
        mask,
        out,
        into.norm if into else out,
        into.scaled if into else out,
        into.squares if into else out,
        dim,
        INTO=into is not None,
        BLOCK=triton.next_power_of_2(dim),
        **early(),
    )
    return out


@triton.jit
def _kernel(token, embedding, mask, out, norm, scaled, squares, dim, INTO: tl.constexpr, BLOCK: tl.constexpr):
    release()
    wait()
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    number = tl.load(token + row).to(tl.int64)
    embedded = tl.load(embedding + tl.maximum(number, 0) * dim + i, mask=i < tl.where(number >= 0, dim, 0), other=0.0)
    masked = tl.load(mask + i, mask=i < tl.where(number < 0, dim, 0), other=0.0)
    x = embedded.to(tl.float32) + masked.to(tl.float32)
    tl.store(out + row * dim + i, x, mask=i < dim)
    if INTO:
        weight = tl.load(norm + i, mask=i < dim, other=0.0)
        tl.store(scaled + row * dim + i, (x * weight).to(scaled.dtype.element_ty), mask=i < dim)
        tl.atomic_add(squares + row, tl.sum(squares_of(x), 0), sem="relaxed")
