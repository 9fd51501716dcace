"""`compensated` by a native kernel, compiled from the LLVM IR that `source` writes.

Where a weight lies in the middle between two codes, it may take the other one than in the reference, and all later
weights of that output may then differ as well. The error of the results is the same.
"""

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.compensate.source import NUMBERS, POINTERS, source
from dlsp_kernels.int4_linear.reference import GROUP, FourBits, weight_scale
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.instructions import Instructions


def compensated(weight: Tensor, shares: list[Tensor], kind: Instructions) -> FourBits:
    """See the reference."""
    scale = weight_scale(weight)
    parts = (weight / scale[:, None]).split([len(share) for share in shares], 1)
    found = [_piece(*piece, kind) for piece in zip(parts, shares, strict=True)]
    return FourBits(*(torch.cat(each, 1) for each in zip(*found, strict=True)), scale=scale)


def _piece(weight: Tensor, share: Tensor, kind: Instructions) -> tuple[Tensor, Tensor, Tensor]:
    (outs, ins), lanes = weight.shape, kind.lanes
    left = F.pad(weight, (0, 0, 0, -outs % lanes)).unflatten(0, (-1, lanes)).transpose(1, 2).contiguous()
    codes = torch.empty(left.shape, dtype=torch.uint8)
    step, minimum = (torch.empty(len(left), ins // GROUP, lanes) for _ in range(2))
    _program(kind)(left, share, codes, step, minimum, ins, items=len(left))
    found = (each.transpose(1, 2).flatten(0, 1)[:outs] for each in (codes, step, minimum))
    codes, step, minimum = found
    return codes, step.to(torch.uint8), minimum.to(torch.int8)


@cache
def _program(kind: Instructions) -> Program:
    return compiled(source(kind), POINTERS, NUMBERS, kind)
