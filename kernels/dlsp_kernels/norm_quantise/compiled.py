"""`add_norm_quantise` by a native kernel, compiled from the LLVM IR that `source` writes."""

from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.norm_quantise.source import NUMBERS, POINTERS, source
from dlsp_kernels.program.capture import empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import ALONE
from dlsp_kernels.program.instructions import Instructions


def add_norm_quantise(
    x: Tensor, y: Tensor, y_scale: Tensor, eps: float, levels: int, kind: Instructions
) -> tuple[Tensor, Tensor]:
    """See the reference."""
    q, scale = empty(*x.shape, dtype=torch.uint8), empty(len(x), 1)
    _program(kind, x.shape[1], eps, levels)(x, y, y_scale, q, scale, y.stride(0), items=len(x), alone=ALONE)
    return q, scale


@cache
def _program(kind: Instructions, dim: int, eps: float, levels: int) -> Program:
    return compiled(source(kind, dim, eps, levels), POINTERS, NUMBERS, kind)
