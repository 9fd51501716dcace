"""The key/value cache of one session, and the count of what all caches of this process hold."""

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_kernels import TILE

BLOCK = 4 * TILE

_living_bytes: dict[int, int] = {}  # bytes of each cache that has not been freed, by its id


def living_bytes() -> int:
    """Bytes of keys and values in all caches that have not been freed, whoever holds them. Any thread may ask."""
    return sum(list(_living_bytes.values()))


class Cache:
    """Keys and values of the clean positions 0 … length - 1, growing in place.

    A step writes all its rows behind them; `length` then moves over the clean rows that stood, and whatever lies
    beyond it (rejected drafts, canvases) is overwritten by the next step.
    """

    expected: int | None = None
    """Positions after which no more room is made in advance: those of the prompt and the longest answer to it."""

    def __init__(self, architecture: Architecture, dtype: torch.dtype) -> None:
        self.length = 0
        shape = (2, architecture.layers, architecture.kv_heads, BLOCK, architecture.head_dim)
        self._hold(torch.zeros(shape, dtype=dtype))

    def _hold(self, kv: Tensor) -> None:
        self._kv = kv  # [k or v, layer, kv_head, position, head_dim]
        self._count(kv.nbytes)

    def _count(self, held_bytes: int) -> None:
        _living_bytes[id(self)] = held_bytes

    def __del__(self) -> None:
        _living_bytes.pop(id(self), None)

    def reserve(self, rows: int) -> None:
        """Make room for `rows` rows behind the clean ones: a quarter more than before, though not beyond `expected`."""
        need, have = self.length + rows, self._kv.shape[3]
        if need > have:
            more = have + have // 4
            wanted = more if self.expected is None else min(more, self.expected)
            self._hold(self._copy(self.length, -(-max(need, wanted) // BLOCK)))

    def keys(self, rows: int) -> int:
        """How many `write` gives for so many rows: whole tiles, the last filled up with what finite stands there."""
        return -(-(self.length + rows) // TILE) * TILE

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """k, v [rows, kv_heads, head_dim] behind the clean positions -> all keys, values [kv_heads, keys, head_dim]."""
        end, given = self.length + len(k), self.keys(len(k))
        keys, values = self._kv[0, layer], self._kv[1, layer]
        keys[:, self.length : end] = k.transpose(0, 1)
        values[:, self.length : end] = v.transpose(0, 1)
        return keys[:, :given], values[:, :given]

    @property
    def memory(self) -> tuple[int, int, int, int]:
        """The address of the keys of layer 0, and how many bytes from there to the next layer, to the values and to the
        next head: until `reserve` makes room.
        """
        kind, layer, head, *_ = (stride * self._kv.itemsize for stride in self._kv.stride())
        return self._kv.data_ptr(), layer, kind, head

    @torch.inference_mode()  # what a step made room in is of that mode
    def move(self, row: int, to: int) -> None:
        """What the last step wrote for its row `row` is that of its row `to`."""
        self._kv[:, :, :, self.length + to] = self._kv[:, :, :, self.length + row]

    def fork(self, length: int) -> "Cache":
        """A cache of its own that begins with the first `length` rows of this one, and has room for a step."""
        twin = object.__new__(Cache)
        twin.length = length
        blocks = -(-(length + BLOCK // 2) // BLOCK)
        twin._hold(self._copy(length, blocks))
        return twin

    def _copy(self, length: int, blocks: int) -> Tensor:
        copy = self._kv.new_empty((*self._kv.shape[:3], blocks * BLOCK, self._kv.shape[4]))
        copy[:, :, :, :length] = self._kv[:, :, :, :length]
        copy[:, :, :, length:] = 0
        return copy

    @property
    def bytes(self) -> int:
        return self._kv.nbytes

    def fitting(self, most_bytes: int) -> int:
        """The most positions that a fork of at most so many bytes can have; below 1 where it cannot have any."""
        return most_bytes // self.bytes_of(BLOCK) * BLOCK - BLOCK // 2

    def bytes_of(self, positions: int) -> int:
        """What so many positions take."""
        return self._kv.nbytes // self._kv.shape[3] * positions
