"""`rope_heads` by a native kernel, compiled from the LLVM IR that `source` writes."""

from functools import cache

from torch import Tensor

from dlsp_kernels.program.capture import empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import ALONE
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.rope_heads.source import NUMBERS, POINTERS, source


def rope_heads(
    y: Tensor,
    y_scale: Tensor,
    bias: Tensor,
    cos: Tensor,
    sin: Tensor,
    heads: int,
    kv_heads: int,
    transform: bool = False,
    *,
    kind: Instructions,
) -> tuple[Tensor, Tensor, Tensor]:
    """See the reference."""
    half = cos.shape[2]
    qkv = empty(len(y), heads + 2 * kv_heads, 2 * half)
    _program(kind, half, heads, kv_heads, transform)(
        y, y_scale, bias, cos, sin, qkv, y.stride(0), items=len(y), alone=ALONE
    )
    return qkv[:, :heads], qkv[:, heads : heads + kv_heads], qkv[:, heads + kv_heads :]


@cache
def _program(kind: Instructions, half: int, heads: int, kv_heads: int, transform: bool) -> Program:
    return compiled(source(kind, half, heads, kv_heads, transform), POINTERS, NUMBERS, kind)
