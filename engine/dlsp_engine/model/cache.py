"""The KV cache of one session, and the total memory of all caches of this process."""

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_kernels import TILE
from dlsp_kernels.kv_format import KvFormat

BLOCK = 4 * TILE

_living_bytes: dict[int, int] = {}  # bytes of each cache that has not been freed, by its id


def living_bytes() -> int:
    """The bytes of keys and values in all caches that have not been freed. May be called from any thread."""
    return sum(list(_living_bytes.values()))


class Cache:
    """Keys and values of the clean positions 0 … length - 1, as `kv` holds them. It grows as needed.

    A step writes the keys and values of all its rows behind these. Then the caller advances `length` over the accepted
    clean rows. What lies beyond (rejected drafts, canvases) is overwritten by the next step.
    """

    # The number of positions that the prompt and its longest possible answer take, if known: `reserve` makes no spare
    # room beyond it.
    expected: int | None = None

    # Whether keys and values are those of the base with the edit update.
    edits: bool = False

    # Whether the keys and values are those of the base as published: the infill update in the weights is then taken
    # back from this cache's rows. A cache of one kind has no use for what one of the other kind holds.
    published = False

    def __init__(self, architecture: Architecture, kv: KvFormat) -> None:
        self.length = 0
        self.kv = kv
        shape = (2, architecture.layers, architecture.kv_heads, BLOCK)
        self._hold(kv.tensors(*shape, d=architecture.head_dim))

    @classmethod
    def holding(cls, kv: KvFormat, held: list[Tensor]) -> "Cache":
        """A cache of all positions that the tensors `held` have; see the method `held`."""
        cache = object.__new__(cls)
        cache.length, cache.kv = held[0].shape[3], kv
        cache._hold(held)
        return cache

    def held(self) -> list[Tensor]:
        """The keys and values of the cached positions, each tensor [k or v, layer, kv_head, position, …]: views."""
        return [held[:, :, :, : self.length] for held in self._stored]

    def _hold(self, stored: list[Tensor]) -> None:
        self._stored = stored  # each [k or v, layer, kv_head, position, …]; see `KvFormat.store`
        self._count(self.bytes)

    def _count(self, held_bytes: int) -> None:
        _living_bytes[id(self)] = held_bytes

    def __del__(self) -> None:
        _living_bytes.pop(id(self), None)

    def reserve(self, rows: int) -> None:
        """Make room for `rows` more rows behind the `length` cached positions.

        The cache grows by at least a quarter, so that it is seldom copied, but gets no spare room beyond `expected`.
        """
        need, have = self.length + rows, self._stored[0].shape[3]
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

        Returns all keys and all values as they are held now, each [kv_heads, keys, head_dim]; for the number of keys
        see `keys`.
        """
        end, given = self.length + len(k), self.keys(len(k))
        for held, new in zip(self._stored, self.kv.store(torch.stack([k, v]).transpose(1, 2)), strict=True):
            held[:, layer, :, self.length : end] = new
        keys, values = self.kv.load([held[:, layer, :, :given] for held in self._stored])
        return keys, values

    @property
    def memory(self) -> tuple[int, int, int, int, int]:
        """Where keys and values are: (address, address of the scales, bytes to the next layer, bytes to the values,
        bytes to the next head).

        The addresses are those of layer 0's keys; that of the scales is 0 if there are none. All are valid until
        `reserve` makes room.
        """
        numbers, *scales = self._stored
        kind, layer, head, *_ = (stride * numbers.itemsize for stride in numbers.stride())
        return numbers.data_ptr(), scales[0].data_ptr() if scales else 0, layer, kind, head

    @torch.inference_mode()  # memory that `reserve` allocated during a step is an inference tensor
    def move(self, row: int, to: int) -> None:
        """Copy the keys and values that the last step wrote for its row `row` to those of its row `to`."""
        for held in self._stored:
            held[:, :, :, self.length + to] = held[:, :, :, self.length + row]

    def fork(self, length: int) -> "Cache":
        """A new cache with a copy of the first `length` positions, and room for a step."""
        twin = object.__new__(Cache)
        twin.length = length
        twin.kv, twin.edits, twin.published = self.kv, self.edits, self.published
        blocks = -(-(length + BLOCK // 2) // BLOCK)
        twin._hold(self._copy(length, blocks))
        return twin

    def _copy(self, length: int, blocks: int) -> list[Tensor]:
        copies = []
        for held in self._stored:
            copy = held.new_empty((*held.shape[:3], blocks * BLOCK, held.shape[4]))
            copy[:, :, :, :length] = held[:, :, :, :length]
            copy[:, :, :, length:] = 0
            copies.append(copy)
        return copies

    @property
    def bytes(self) -> int:
        return sum(held.nbytes for held in self._stored)

    def fitting(self, most_bytes: int) -> int:
        """The most positions of a fork that takes at most `most_bytes` bytes; below 1 if every fork takes more."""
        return most_bytes // self.bytes_of(BLOCK) * BLOCK - BLOCK // 2

    def bytes_of(self, positions: int) -> int:
        """The bytes that this many positions take."""
        return self.bytes // self._stored[0].shape[3] * positions
