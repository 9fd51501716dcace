"""Attention of all rows of a step by a program of ours (`source`), which also keeps their keys and values."""

from copy import copy
from functools import cache

from torch import Tensor

from dlsp_kernels.canvas_attention.source import NUMBERS, POINTERS, Writer
from dlsp_kernels.program.capture import empty
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import workers
from dlsp_kernels.program.instructions import AVX2, Instructions, usable

ROUND = 4096
"""Scores have room for a multiple of so many keys: a step with a few more is of the same shape."""


class CompiledAttention:
    """The attention of one step's rows; `layer` by layer, as each comes."""

    def __init__(self, places: Tensor, keys: int, heads: int, kv_heads: int, d: int, kind: Instructions) -> None:
        """`places` int64 [rows, 8], a `Place` each; no row sees more than `keys` keys. `kind` is `suited` to d."""
        self._run = _program(kind, d, heads, kv_heads)
        self.places, self._heads, self._groups, self._d = places, heads, heads // kv_heads, d
        # Scores are filled up to whole vectors, and a sum is kept behind them.
        self.size = -(-keys // ROUND) * ROUND + kind.lanes + 1

    def of(self, places: Tensor) -> "CompiledAttention":
        """The same of rows whose places stand elsewhere."""
        other = copy(self)
        other.places = places
        return other

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, d], k and v [rows, kv_heads, d], whose rows may lie apart -> [rows, heads * d]."""
        out, scores = empty(len(q), self._heads * self._d), empty(workers(), self._groups, self.size)
        numbers = q.stride(0), k.stride(0), v.stride(0), layer, self.size
        self._run(q, k, v, out, scores, self.places, *numbers, items=len(q) * k.shape[1])
        return out


def suited(d: int) -> Instructions | None:
    """Those for heads of d floats, which make whole vectors; None where there are none."""
    return next((kind for kind in (usable(), AVX2) if kind and kind.here() and d % kind.lanes == 0), None)


@cache
def _program(kind: Instructions, d: int, heads: int, kv_heads: int) -> Program:
    return compiled(Writer(kind, d, heads, kv_heads).source(), POINTERS, NUMBERS, kind)
