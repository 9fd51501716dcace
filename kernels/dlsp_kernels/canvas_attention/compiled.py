"""Attention of all rows of a step by a native kernel (`source`), which also writes their keys and values to
the caches.
"""

from copy import copy
from functools import cache

from torch import Tensor

from dlsp_kernels.canvas_attention.source import NUMBERS, POINTERS, Writer
from dlsp_kernels.kv_format import FLOAT32, KvFormat
from dlsp_kernels.program.capture import empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import workers
from dlsp_kernels.program.instructions import AVX2, Instructions, usable


class CompiledAttention:
    """The attention of one step's rows, called once for each layer."""

    def __init__(
        self, places: Tensor, heads: int, kv_heads: int, d: int, kind: Instructions, kv: KvFormat = FLOAT32
    ) -> None:
        """`places` int64 [rows, 10]: a `Place` per row. `kind`: from `suited(d)`. `kv`: how the caches hold keys and
        values, not in bfloat16.
        """
        self._run, self._scratch = _program(kind, d, heads, kv_heads, kv)
        self.places, self._heads, self._d = places, heads, d

    def of(self, places: Tensor) -> "CompiledAttention":
        """The same attention with the places in another tensor."""
        other = copy(self)
        other.places = places
        return other

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, d]; k, v [rows, kv_heads, d] -> [rows, heads * d].

        The rows of q, k and v need not be contiguous in memory, but each row must be.
        """
        out, scratch = empty(len(q), self._heads * self._d), empty(workers(), self._scratch)
        numbers = q.stride(0), k.stride(0), v.stride(0), layer
        self._run(q, k, v, out, scratch, self.places, *numbers, items=len(q) * k.shape[1])
        return out


def suited(d: int, kv: KvFormat = FLOAT32) -> Instructions | None:
    """The instructions to use for heads of d floats: d must be a multiple of their lanes, of twice as many if a byte
    holds two numbers. None if there are none.
    """
    width = d // 2 if kv.bits == 4 else d
    return next((kind for kind in (usable(), AVX2) if kind and kind.here() and width % kind.lanes == 0), None)


@cache
def _program(kind: Instructions, d: int, heads: int, kv_heads: int, kv: KvFormat) -> tuple[Program, int]:
    """The kernel, and the floats of scratch memory that it needs for each worker."""
    writer = Writer(kind, d, heads, kv_heads, kv)
    return compiled(writer.source(), POINTERS, NUMBERS, kind), writer.scratch_floats
