"""Attention of all rows of a step by a program of ours (`source`), which also keeps their keys and values."""

import ctypes
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from dlsp_kernels.canvas_attention.source import NUMBERS, POINTERS, Attention
from dlsp_kernels.program.instructions import AVX2, Instructions, best
from dlsp_kernels.program.threads import compiled, fields

Task = fields(POINTERS, NUMBERS)

BEYOND = 16
"""Keys that may be read behind the last one; whatever finite stands there changes nothing."""


class CompiledAttention:
    """The attention of one step's rows; `layer` by layer, as each comes."""

    def __init__(
        self, places: Tensor, keys: int, heads: int, kv_heads: int, d: int, kind: Instructions | None = None
    ) -> None:
        """places int64 [rows, 8] as in `source.PLACE`; no row sees more than `keys` keys. RuntimeError: no program can
        run here, or none is for heads of this size.
        """
        self._run = _program(kind or _suited(d), d, heads, kv_heads)
        self._places, self._heads, self._d = places, heads, d
        self._size = keys + 3 * BEYOND  # two runs are filled up to whole vectors, and a sum is kept behind them
        self._scores = torch.empty(torch.get_num_threads(), heads // kv_heads, self._size)

    def __call__(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q [rows, heads, d], k and v [rows, kv_heads, d], whose rows may lie apart -> [rows, heads * d]."""
        out = torch.empty(len(q), self._heads * self._d)
        tensors = q, k, v, out, self._scores, self._places
        strides = (tensor.stride(0) for tensor in (q, k, v))
        self._run(Task(*(tensor.data_ptr() for tensor in tensors), *strides, len(q), layer, self._size))
        return out


def ready(heads: int, kv_heads: int, d: int) -> bool:
    """Whether there is a program for such heads here; it is compiled then."""
    try:
        _program(_suited(d), d, heads, kv_heads)
    except RuntimeError:
        return False
    return True


def _suited(d: int) -> Instructions:
    for kind in (best(), AVX2):
        if kind and kind.here() and d % kind.lanes == 0:
            return kind
    raise RuntimeError(f"no program for heads of {d} here")


@cache
def _program(kind: Instructions, d: int, heads: int, kv_heads: int) -> Callable[[ctypes.Structure], None]:
    return compiled(Attention(kind, d, heads, kv_heads).source(), kind)
