"""The KV cache of one session, and the total memory of all caches of this process."""

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_kernels import TILE

BLOCK = 4 * TILE

_living_bytes: dict[int, int] = {}  # bytes of each cache that has not been freed, by its id


def living_bytes() -> int:
    """The bytes of keys and values in all caches that have not been freed. May be called from any thread."""
    return sum(list(_living_bytes.values()))


class Cache:
    """Keys and values of the clean positions 0 … length - 1. It grows as needed.

    A step writes the keys and values of all its rows behind these. Then the caller advances `length` over the accepted
    clean rows. What lies beyond (rejected drafts, canvases) is overwritten by the next step.
    """

    # The number of positions that the prompt and its longest possible answer take, if known: `reserve` makes no spare
    # room beyond it.
    expected: int | None = None

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
        """Make room for `rows` more rows behind the `length` cached positions.

        The cache grows by at least a quarter, so that it is seldom copied, but gets no spare room beyond `expected`.
        """
        need, have = self.length + rows, self._kv.shape[3]
        if need > have:
            more = have + have // 4
            wanted = more if self.expected is None else min(more, self.expected)
            self._hold(self._copy(self.length, -(-max(need, wanted) // BLOCK)))

    def keys(self, rows: int) -> int:
        """The number of keys that `write` returns for this many rows: rounded up to TILE. Padding keys are finite and
        masked.
        """
        return -(-(self.length + rows) // TILE) * TILE

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write k, v [rows, kv_heads, head_dim] behind the cached positions.

        Returns all keys and all values, each [kv_heads, keys, head_dim]; for the number of keys see `keys`.
        """
        end, given = self.length + len(k), self.keys(len(k))
        keys, values = self._kv[0, layer], self._kv[1, layer]
        keys[:, self.length : end] = k.transpose(0, 1)
        values[:, self.length : end] = v.transpose(0, 1)
        return keys[:, :given], values[:, :given]

    @property
    def memory(self) -> tuple[int, int, int, int]:
        """Where keys and values are: (address, bytes to the next layer, bytes to the values, bytes to the next head).

        The address is that of layer 0's keys. All are valid until `reserve` makes room.
        """
        kind, layer, head, *_ = (stride * self._kv.itemsize for stride in self._kv.stride())
        return self._kv.data_ptr(), layer, kind, head

    @torch.inference_mode()  # memory that `reserve` allocated during a step is an inference tensor
    def move(self, row: int, to: int) -> None:
        """Copy the keys and values that the last step wrote for its row `row` to those of its row `to`."""
        self._kv[:, :, :, self.length + to] = self._kv[:, :, :, self.length + row]

    def fork(self, length: int) -> "Cache":
        """A new cache with a copy of the first `length` positions, and room for a step."""
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
        """The most positions of a fork that takes at most `most_bytes` bytes; below 1 if every fork takes more."""
        return most_bytes // self.bytes_of(BLOCK) * BLOCK - BLOCK // 2

    def bytes_of(self, positions: int) -> int:
        """The bytes that this many positions take."""
        return self._kv.nbytes // self._kv.shape[3] * positions
