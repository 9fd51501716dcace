"""`swiglu_quantise` by a native kernel, compiled from the LLVM IR that `source` writes."""

from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.program.capture import empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import ALONE, workers
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.swiglu_quantise.source import NUMBERS, POINTERS, source


def swiglu_quantise(y: Tensor, y_scale: Tensor, ff: int, levels: int, kind: Instructions) -> tuple[Tensor, Tensor]:
    """See the reference."""
    q, scale = empty(len(y), ff, dtype=torch.uint8), empty(len(y), 1)
    h = empty(workers(), ff)
    _program(kind, ff, levels)(y, y_scale, h, q, scale, y.stride(0), items=len(y), alone=ALONE)
    return q, scale


@cache
def _program(kind: Instructions, ff: int, levels: int) -> Program:
    return compiled(source(kind, ff, levels), POINTERS, NUMBERS, kind)
