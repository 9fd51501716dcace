"""The paged KV cache: one tensor holds the pages of all sessions, so that a captured step can reach any of them."""

import weakref
from itertools import count

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.cache import Cache
from dlsp_kernels.packed_rows import PAGE

# The most pages of a session: more positions than the models were trained on.
MAX_SESSION_PAGES = 520


_numbers = count()


class Pool:
    """The pages of all sessions: kv [layers, 2 (keys, values), pages, kv_heads, PAGE, head_dim].

    Page 0 belongs to no session: the unused rows of a step write there.
    """

    def __init__(self, shape: Architecture, dtype: torch.dtype, device: torch.device, pages: int) -> None:
        self.kv = torch.zeros(shape.layers, 2, pages, shape.kv_heads, PAGE, shape.head_dim, dtype=dtype, device=device)
        self._free = list(range(pages - 1, 0, -1))

    @staticmethod
    def page_bytes(shape: Architecture, dtype: torch.dtype) -> int:
        """The size of a page in bytes: keys and values of all layers."""
        return shape.layers * 2 * shape.kv_heads * PAGE * shape.head_dim * dtype.itemsize

    @property
    def free(self) -> int:
        """The number of free pages."""
        return len(self._free)

    def take(self, pages: int) -> list[int]:
        """Allocate pages, and return their numbers. Raises MemoryError when fewer are free."""
        if pages > len(self._free):
            raise MemoryError(f"{pages} pages of keys and values are wanted, {len(self._free)} are free")
        return [self._free.pop() for _ in range(pages)]

    def give(self, pages: list[int]) -> None:
        """Return pages to the pool."""
        self._free += pages

    def keys(self, layer: int) -> Tensor:
        """The keys of a layer: [pages, kv_heads, PAGE, head_dim]."""
        return self.kv[layer, 0]

    def values(self, layer: int) -> Tensor:
        """The values of a layer: [pages, kv_heads, PAGE, head_dim]."""
        return self.kv[layer, 1]


class PagedCache(Cache):
    """One session's pages. They return to the pool when the cache is garbage-collected."""

    def __init__(self, pool: Pool) -> None:
        self.length = 0
        self.number = next(_numbers)
        self.pool = pool
        self.pages: list[int] = []
        weakref.finalize(self, pool.give, self.pages)

    def reserve(self, rows: int) -> None:
        """Allocate pages until `rows` more rows fit behind the `length` cached positions.

        Raises MemoryError beyond MAX_SESSION_PAGES pages, or when the pool is exhausted.
        """
        need = -(-(self.length + rows) // PAGE)
        if need > MAX_SESSION_PAGES:
            raise MemoryError(f"a session takes at most {MAX_SESSION_PAGES * PAGE} positions")
        if need > len(self.pages):
            self.pages += self.pool.take(need - len(self.pages))
            self._count(self.bytes)

    def slot(self, place: int) -> int:
        """Where key number `place` of this session is in the pool: page * PAGE + offset in the page."""
        return self.pages[place // PAGE] * PAGE + place % PAGE

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError("a paged cache is written by the step's kernels")

    def move(self, row: int, to: int) -> None:
        raise NotImplementedError("no step of a GPU has alternatives")

    def fork(self, length: int) -> "PagedCache":
        """A new cache with a copy of the first `length` positions. Raises MemoryError when the pool is exhausted."""
        twin = PagedCache(self.pool)
        twin.reserve(length)
        twin.length, twin.published = length, self.published
        self.pool.kv[:, :, twin.pages] = self.pool.kv[:, :, self.pages[: len(twin.pages)]]
        return twin

    @property
    def bytes(self) -> int:
        return self.bytes_of(len(self.pages) * PAGE)

    def fitting(self, most_bytes: int) -> int:
        """The most positions of a fork that takes at most `most_bytes` bytes."""
        return most_bytes // self.bytes_of(1) * PAGE

    def bytes_of(self, positions: int) -> int:
        """The bytes that this many positions take, rounded up to whole pages."""
        return -(-positions // PAGE) * self.pool.kv[:, :, 0].nbytes
