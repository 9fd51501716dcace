"""The paged KV cache: one tensor holds the pages of all sessions, so that a captured step can reach any of them."""

import weakref
from collections.abc import Sequence
from itertools import count

import torch
from torch import Tensor

from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.cache import Cache
from dlsp_engine.options import MAX_CONTEXT_TOKENS
from dlsp_kernels.packed_rows import PAGE

# Rows of a step that are no tokens of the answer: rejected drafts, alternatives, canvases.
SPARE_ROWS = 512

# The most pages of a session.
MAX_SESSION_PAGES = (MAX_CONTEXT_TOKENS + SPARE_ROWS) // PAGE


_numbers = count()


class Pool:
    """The pages of all sessions: kv [layers, 2 (keys, values), pages, kv_heads, PAGE, head_dim].

    Page 0 belongs to no session: the unused rows of a step write there. Sessions that begin alike may hold the same
    pages (`share`).
    """

    def __init__(self, shape: Architecture, dtype: torch.dtype, device: torch.device, pages: int) -> None:
        self.kv = torch.zeros(shape.layers, 2, pages, shape.kv_heads, PAGE, shape.head_dim, dtype=dtype, device=device)
        self._free = list(range(pages - 1, 0, -1))
        self._holders = [0] * pages

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
        taken = [self._free.pop() for _ in range(pages)]
        self.share(taken)
        return taken

    def share(self, pages: Sequence[int]) -> None:
        """Count one more holder of these pages."""
        for page in pages:
            self._holders[page] += 1

    def shared(self, page: int) -> bool:
        """Whether a page has more than one holder, so that none may write to it."""
        return self._holders[page] > 1

    def give(self, pages: Sequence[int]) -> None:
        """Count one holder of these pages less. Pages without a holder are free."""
        for page in pages:
            self._holders[page] -= 1
            if not self._holders[page]:
                self._free.append(page)

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
        """Make room for `rows` more rows behind the `length` cached positions, in pages that no other cache holds.

        Raises MemoryError beyond MAX_SESSION_PAGES pages, or when the pool is exhausted.
        """
        need = -(-(self.length + rows) // PAGE)
        if need > MAX_SESSION_PAGES:
            raise MemoryError(f"a session takes at most {MAX_SESSION_PAGES * PAGE} positions")
        if need > len(self.pages):
            self.pages += self.pool.take(need - len(self.pages))
            self._count(self.bytes)
        for at in range(self.length // PAGE, need):
            if self.pool.shared(page := self.pages[at]):
                (own,) = self.pool.take(1)
                if at * PAGE < self.length:
                    self.pool.kv[:, :, own] = self.pool.kv[:, :, page]
                self.pages[at] = own
                self.pool.give([page])

    def slot(self, place: int) -> int:
        """Where key number `place` of this session is in the pool: page * PAGE + offset in the page."""
        return self.pages[place // PAGE] * PAGE + place % PAGE

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError("a paged cache is written by the step's kernels")

    def move(self, row: int, to: int) -> None:
        (page, place), (own, there) = (divmod(self.slot(self.length + each), PAGE) for each in (row, to))
        self.pool.kv[:, :, own, :, there] = self.pool.kv[:, :, page, :, place]

    def fork(self, length: int) -> "PagedCache":
        """A new cache of the first `length` positions. It holds the same pages, until one of the two writes to them."""
        twin = PagedCache(self.pool)
        twin.pages += self.pages[: -(-length // PAGE)]
        self.pool.share(twin.pages)
        twin.length, twin.published = length, self.published
        twin._count(twin.bytes)
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
