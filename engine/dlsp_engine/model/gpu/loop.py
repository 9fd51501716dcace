"""Greedy decoding of verified drafts that stays on the GPU. A gap is one place in a text that is being completed.

In each step the device builds the rows, runs the model, verifies the drafts, commits tokens and makes the next drafts.
The host receives one small copy per step. It uploads state only when its own state differs from the device's: when the
set of gaps has changed, or when it has a better draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dlsp_engine.model.gpu.buffers import total, views
from dlsp_engine.model.gpu.pool import MAX_SESSION_PAGES, PagedCache
from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.packed_rows import TILE_ROWS, PackedRows

if TYPE_CHECKING:
    from dlsp_engine.model.gpu.step import GpuQwen2

GAP_COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

# Up to this many rows, one step both verifies and drafts. Beyond it, where more rows take more time, steps alternate
# between verifying and drafting.
MAX_MERGED_ROWS = 128

# Candidate tokens per row, among which bigrams choose. The host considers more of them (`draft.CANDIDATES`), and also
# the text before the gap, so its draft differs now and then.
CANDIDATES = 8


@dataclass(frozen=True)
class GapState:
    """The host's state of one gap. `cache` holds all clean positions except that of `last`, the last
    committed token.
    """

    cache: PagedCache
    last: int
    draft: tuple[int, ...] = ()


@dataclass(frozen=True)
class GapStep:
    """The result of one step for one gap: the committed `tokens`, the next `draft` (empty if none), the probabilities
    of both, and `rows`, the number of rows that the step ran for this gap.
    """

    tokens: list[int]
    probability: list[float]
    draft: list[int]
    draft_probability: list[float]
    rows: int


class DeviceBatch:
    """Fixed-address device buffers for the state and rows of `gaps` gaps with canvases of `width` masks.

    Each instance is the key of its own graph, because a captured graph is bound to the addresses of its buffers. Unused
    gaps have drafted = -1.
    """

    def __init__(self, gaps: int, width: int, merged: bool, published: bool, device: torch.device) -> None:
        self.gaps, self.width, self.merged, self.published = gaps, width, merged, published
        size = self.size = rows_per_gap(width, merged)
        self._sizes = [gaps, gaps, gaps, gaps * width, gaps * MAX_SESSION_PAGES]
        self._buffer = torch.zeros(total(self._sizes), dtype=torch.int32, device=device)
        last, length, drafted, draft, table = views(self._buffer, self._sizes)
        self.state = GapStates(last, length, drafted, draft.view(gaps, width))
        blank = [torch.zeros(gaps * size, dtype=torch.int32, device=device) for _ in range(5)]
        gap = torch.arange(gaps, dtype=torch.int32, device=device)
        start = torch.arange(0, size, TILE_ROWS, dtype=torch.int32, device=device)
        tile = torch.stack([gap.repeat_interleave(len(start)), (gap[:, None] * size + start).flatten()], 1)
        table = table.view(gaps, MAX_SESSION_PAGES)
        count = torch.full_like(gap, size)
        self.rows = PackedRows(*[*blank, length, gap * size, count, table, tile.contiguous()])

    def put(self, states: Sequence[GapState]) -> None:
        """Upload the states of the gaps in one copy, and mark all further gaps as unused."""
        host = torch.zeros(len(self._buffer), dtype=torch.int32)
        last, length, drafted, draft, table = (view.numpy() for view in views(host, self._sizes))
        drafted.fill(-1)
        for i, state in enumerate(states):
            last[i], length[i], drafted[i] = state.last, state.cache.length, len(state.draft)
            draft[i * self.width : i * self.width + len(state.draft)] = state.draft
            table[i * MAX_SESSION_PAGES : i * MAX_SESSION_PAGES + len(state.cache.pages)] = state.cache.pages
        self._buffer.copy_(host)


class Loop:
    """Steps many gaps at once on the device. It remembers the state that the device holds, to avoid uploads."""

    def __init__(self, model: "GpuQwen2") -> None:
        self.model = model
        self._batches: dict[tuple[int, int, bool, bool], DeviceBatch] = {}
        self._device_state: tuple[object, ...] = ()

    @torch.inference_mode()
    def step(self, states: Sequence[GapState], width: int) -> list[GapStep]:
        """Run one step for all gaps (at most GAP_COUNTS[-1]), whose caches are all published or none. Returns one
        result per gap, in order.

        `width` is the number of masks in a canvas and the most draft tokens; 0 decodes autoregressively. After the step
        the cache holds all committed tokens except the last; the caller must advance `cache.length`. Raises MemoryError
        when the page pool is exhausted.
        """
        batch = self._ready(next(size for size in GAP_COUNTS if len(states) <= size), width, states[0].cache.published)
        for state in states:
            state.cache.reserve(batch.size)
        states = [GapState(state.cache, state.last, state.draft[:width]) for state in states]
        if self._device_state != (batch, *map(_host_state, states)):
            batch.put(states)
        result = self.model.graphs(batch, lambda: self.launch(batch)).cpu()
        found = _read(result[: len(states)], width, batch.size)
        self._device_state = (batch, *(_state_after(state, one) for state, one in zip(states, found, strict=True)))
        return found

    @torch.inference_mode()
    def warm_up(self, width: int) -> None:
        """Compile and capture the steps of 1 to GAP_COUNTS[3] gaps with canvases, and of one gap without a canvas."""
        for gaps in GAP_COUNTS[:4]:
            self._ready(gaps, width)
        self._ready(1, 0)

    def _ready(self, gaps: int, width: int, published: bool = False) -> DeviceBatch:
        """The buffers for this number of gaps and this width, with their step captured."""
        key = (gaps, width, gaps * rows_per_gap(width, True) <= MAX_MERGED_ROWS, published)
        batch = self._batches.get(key) or self._batches.setdefault(key, DeviceBatch(*key, self.model.device))
        if not self.model.graphs.ready(batch):
            batch.put([])  # `prepare` runs the step: with no gap in use, it changes no session
            self.model.graphs.prepare(batch, lambda: self.launch(batch))
            self._device_state = ()
        return batch

    def launch(self, batch: DeviceBatch) -> Tensor:
        """Launch all kernels of one step. Advances the state in `batch`, and returns the tensor that `commit` returns.

        If the adapter has bigrams, `pair_choice` chooses the draft.
        """
        model, ops, rows = self.model, self.model.ops, batch.rows
        ops.lay(batch.state, rows, batch.merged)
        hidden = model.layers(rows, canvas=batch.width > 0, published=batch.published)
        pairs = model.weights.pairs if batch.width else None
        candidates = CANDIDATES if pairs else 1
        top = ops.top_tokens(hidden, model.weights.head, model.head_norm, model.shape.eps, candidates)
        result = ops.commit(batch.state, top.token, top.probability, batch.merged)
        if pairs:
            ops.pair_choice(batch.state, result, top.token, top.probability, pairs, batch.merged)
        return result


def _host_state(state: GapState) -> tuple[object, ...]:
    """What the device's state of this gap must be before the step, as a value to compare."""
    return (state.cache.number, len(state.cache.pages), state.cache.length, state.last, state.draft)


def _state_after(state: GapState, result: GapStep) -> tuple[object, ...]:
    """The same value for the state that the device has after the step."""
    length = state.cache.length + len(result.tokens)
    return (state.cache.number, len(state.cache.pages), length, result.tokens[-1], tuple(result.draft))


def _read(result: Tensor, width: int, rows: int) -> list[GapStep]:
    """Decode the int32 tensor that `commit` returned, whose columns are listed there."""
    found = []
    for ints, floats in zip(result.tolist(), result.view(torch.float32).tolist(), strict=True):
        count, chance, draft, draft_chance = ints[0], 2 + width, 3 + 2 * width, 3 + 3 * width
        there = width > 0 and ints[draft] >= 0
        found.append(
            GapStep(
                ints[1 : 1 + count],
                floats[chance : chance + count],
                ints[draft : draft + width] if there else [],
                floats[draft_chance : draft_chance + width] if there else [],
                rows,
            )
        )
    return found
