"""The key/value cache of one session."""

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture

BLOCK = 256


class Cache:
    """Keys and values of the clean positions 0 … length - 1, growing in place.

    A step writes all its rows behind them; `length` then moves over the clean rows that stood, and whatever lies
    beyond it (rejected drafts, canvases) is overwritten by the next step.
    """

    def __init__(self, architecture: Architecture, dtype: torch.dtype) -> None:
        self.length = 0
        shape = (2, architecture.layers, architecture.kv_heads, BLOCK, architecture.head_dim)
        self._kv = torch.empty(shape, dtype=dtype)  # [k or v, layer, kv_head, position, head_dim]

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows behind the clean ones."""
        need, have = self.length + rows, self._kv.shape[3]
        if need > have:
            blocks = -(-max(need, 2 * have) // BLOCK)
            grown = self._kv.new_empty((*self._kv.shape[:3], blocks * BLOCK, self._kv.shape[4]))
            grown[:, :, :, : self.length] = self._kv[:, :, :, : self.length]
            self._kv = grown

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """k, v [rows, kv_heads, head_dim] behind the clean positions -> all keys, values [kv_heads, keys, head_dim]."""
        end = self.length + k.shape[0]
        keys, values = self._kv[0, layer], self._kv[1, layer]
        keys[:, self.length : end] = k.transpose(0, 1)
        values[:, self.length : end] = v.transpose(0, 1)
        return keys[:, :end], values[:, :end]

    def fork(self, length: int) -> "Cache":
        """A cache of its own that begins with the first `length` rows of this one, and has room for a step."""
        twin = object.__new__(Cache)
        twin.length = length
        blocks = -(-(length + BLOCK // 2) // BLOCK)
        twin._kv = self._kv.new_empty((*self._kv.shape[:3], blocks * BLOCK, self._kv.shape[4]))
        twin._kv[:, :, :, :length] = self._kv[:, :, :, :length]
        return twin

    @property
    def bytes(self) -> int:
        return self._kv.nbytes
