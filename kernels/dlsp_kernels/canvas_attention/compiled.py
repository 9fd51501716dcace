"""Attention of all rows of a step by a program of ours (`source`), which also keeps their keys and values."""

from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.canvas_attention.source import NUMBERS, POINTERS, Place, Writer
from dlsp_kernels.program.compiled import Program, compiled
from dlsp_kernels.program.crew import workers
from dlsp_kernels.program.instructions import AVX2, Instructions, usable


class CompiledAttention:
    """The attention of one step's rows; `layer` by layer, as each comes."""

    def __init__(
        self, places: Sequence[Place], keys: int, heads: int, kv_heads: int, d: int, kind: Instructions
    ) -> None:
        """`places` of the rows; no row sees more than `keys` keys. `kind` is `suited` to d."""
        self._run = _program(kind, d, heads, kv_heads)
        self._places, self._heads, self._d = torch.tensor(places), heads, d
        self._size = keys + 2 * kind.lanes + 1  # two runs are filled up to whole vectors, and a sum is kept behind them
        self._scores = torch.empty(workers(), heads // kv_heads, self._size)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, d], k and v [rows, kv_heads, d], whose rows may lie apart -> [rows, heads * d]."""
        out = torch.empty(len(q), self._heads * self._d)
        numbers = q.stride(0), k.stride(0), v.stride(0), layer, self._size
        self._run(q, k, v, out, self._scores, self._places, *numbers, items=len(q) * k.shape[1])
        return out


def suited(d: int) -> Instructions | None:
    """Those for heads of d floats, which make whole vectors; None where there are none."""
    return next((kind for kind in (usable(), AVX2) if kind and kind.here() and d % kind.lanes == 0), None)


@cache
def _program(kind: Instructions, d: int, heads: int, kv_heads: int) -> Program:
    return compiled(Writer(kind, d, heads, kv_heads).source(), POINTERS, NUMBERS, kind)
