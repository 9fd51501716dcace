"""`quantise_rows` by a native kernel, compiled from the LLVM IR that `source` writes."""

from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.program.capture import contiguous, empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import ALONE
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.quantise.source import NUMBERS, POINTERS, source


def quantise_rows(x: Tensor, levels: int, kind: Instructions) -> tuple[Tensor, Tensor]:
    """See the reference."""
    x, q, scale = contiguous(x), empty(*x.shape, dtype=torch.uint8), empty(len(x), 1)
    _program(kind, x.shape[1], levels)(x, q, scale, items=len(x), alone=ALONE)
    return q, scale


@cache
def _program(kind: Instructions, dim: int, levels: int) -> Program:
    return compiled(source(kind, dim, levels), POINTERS, NUMBERS, kind)
