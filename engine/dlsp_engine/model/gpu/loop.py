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
from dlsp_engine.model.gpu.pool import MOST_PAGES, PagedCache
from dlsp_kernels.lay.reference import GapStates, rows_per_gap
from dlsp_kernels.packed_rows import TILE_ROWS, PackedRows

if TYPE_CHECKING:
    from dlsp_engine.model.gpu.step import GpuQwen2

GAPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)

MERGED_ROWS = 128
"""Up to this many rows, one step both verifies and drafts. Beyond it, where more rows take more time, steps alternate
between verifying and drafting.
"""

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


class Places:
    """Fixed-address device buffers for the state and rows of `gaps` gaps with canvases of `width` masks.

    Each instance is the key of its own graph, because a captured graph is bound to the addresses of its buffers. Unused
    gaps have drafted = -1.
    """

    def __init__(self, gaps: int, width: int, merged: bool, device: torch.device) -> None:
        self.gaps, self.width, self.merged = gaps, width, merged
        size = self.size = rows_per_gap(width, merged)
        self._sizes = [gaps, gaps, gaps, gaps * width, gaps * MOST_PAGES]
        self._held = torch.zeros(total(self._sizes), dtype=torch.int32, device=device)
        last, length, drafted, draft, table = views(self._held, self._sizes)
        self.state = GapStates(last, length, drafted, draft.view(gaps, width))
        blank = [torch.zeros(gaps * size, dtype=torch.int32, device=device) for _ in range(5)]
        gap = torch.arange(gaps, dtype=torch.int32, device=device)
        start = torch.arange(0, size, TILE_ROWS, dtype=torch.int32, device=device)
        tile = torch.stack([gap.repeat_interleave(len(start)), (gap[:, None] * size + start).flatten()], 1)
        table = table.view(gaps, MOST_PAGES)
        count = torch.full_like(gap, size)
        self.rows = PackedRows(*[*blank, length, gap * size, count, table, tile.contiguous()])
        self.known: list[GapState] = []

    def put(self, states: Sequence[GapState]) -> None:
        """Upload the states of the gaps in one copy, and mark all further gaps as unused."""
        host = torch.zeros(len(self._held), dtype=torch.int32)
        last, length, drafted, draft, table = (view.numpy() for view in views(host, self._sizes))
        drafted.fill(-1)
        for i, state in enumerate(states):
            last[i], length[i], drafted[i] = state.last, state.cache.length, len(state.draft)
            draft[i * self.width : i * self.width + len(state.draft)] = state.draft
            table[i * MOST_PAGES : i * MOST_PAGES + len(state.cache.pages)] = state.cache.pages
        self._held.copy_(host)


class Loop:
    """Steps many gaps at once on the device. It remembers the state that the device holds, to avoid uploads."""

    def __init__(self, model: "GpuQwen2") -> None:
        self.model = model
        self._places: dict[tuple[int, int, bool], Places] = {}
        self._known: tuple[object, ...] = ()

    @torch.inference_mode()
    def step(self, states: Sequence[GapState], width: int) -> list[GapStep]:
        """Run one step for all gaps (at most GAPS[-1]). Returns one result per gap, in order.

        `width` is the number of masks in a canvas and the most draft tokens; 0 decodes autoregressively. After the step
        the cache holds all committed tokens except the last; the caller must advance `cache.length`. Raises MemoryError
        when the page pool is exhausted.
        """
        places = self._ready(next(size for size in GAPS if len(states) <= size), width)
        for state in states:
            state.cache.reserve(places.size)
        states = [GapState(state.cache, state.last, state.draft[:width]) for state in states]
        if self._known != (places, *map(_told, states)):
            places.put(states)
        told = self.model.graphs(places, lambda: self.launch(places)).cpu()
        found = _read(told[: len(states)], width, places.size)
        self._known = (places, *(_after(state, one) for state, one in zip(states, found, strict=True)))
        return found

    @torch.inference_mode()
    def warm_up(self, width: int) -> None:
        """Compile and capture the steps of 1 to GAPS[3] gaps with canvases, and of one gap without a canvas."""
        for gaps in GAPS[:4]:
            self._ready(gaps, width)
        self._ready(1, 0)

    def _ready(self, gaps: int, width: int) -> Places:
        """The buffers for this number of gaps and this width, with their step captured."""
        key = (gaps, width, gaps * rows_per_gap(width, True) <= MERGED_ROWS)
        places = self._places.get(key) or self._places.setdefault(key, Places(*key, self.model.device))
        if not self.model.graphs.ready(places):
            places.put([])  # `prepare` runs the step: with no gap in use, it changes no session
            self.model.graphs.prepare(places, lambda: self.launch(places))
            self._known = ()
        return places

    def launch(self, places: Places) -> Tensor:
        """Launch all kernels of one step. Advances the state in `places`, and returns the tensor that `commit` returns.

        If the adapter has bigrams, `pair_choice` chooses the draft.
        """
        model, ops, rows = self.model, self.model.ops, places.rows
        ops.lay(places.state, rows, places.merged)
        hidden = model.layers(rows, canvas=places.width > 0)
        pairs = model.weights.pairs if places.width else None
        candidates = CANDIDATES if pairs else 1
        top = ops.top_tokens(hidden, model.weights.head, model.weights.norm, model.shape.eps, candidates)
        told = ops.commit(places.state, top.token, top.probability, places.merged)
        if pairs:
            ops.pair_choice(places.state, told, top.token, top.probability, pairs, places.merged)
        return told


def _told(state: GapState) -> tuple[object, ...]:
    """What the device's state of this gap must be before the step, as a value to compare."""
    return (state.cache.number, len(state.cache.pages), state.cache.length, state.last, state.draft)


def _after(state: GapState, told: GapStep) -> tuple[object, ...]:
    """The same value for the state that the device has after the step."""
    length = state.cache.length + len(told.tokens)
    return (state.cache.number, len(state.cache.pages), length, told.tokens[-1], tuple(told.draft))


def _read(told: Tensor, width: int, rows: int) -> list[GapStep]:
    """Decode the int32 tensor that `commit` returned, whose columns are listed there."""
    found = []
    for ints, floats in zip(told.tolist(), told.view(torch.float32).tolist(), strict=True):
        count, sure, draft, draft_sure = ints[0], 2 + width, 3 + 2 * width, 3 + 3 * width
        there = width > 0 and ints[draft] >= 0
        found.append(
            GapStep(
                ints[1 : 1 + count],
                floats[sure : sure + count],
                ints[draft : draft + width] if there else [],
                floats[draft_sure : draft_sure + width] if there else [],
                rows,
            )
        )
    return found
