"""Runs decoding steps on an NVIDIA GPU: greedy decoding stays on the device, all other rows go through a
forward pass.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from dlsp_engine.backend import Committed, GreedyStep, Logits, RowsStep, forward
from dlsp_engine.decode.budget import Costs
from dlsp_engine.model.gpu.loop import GAP_COUNTS, GapState, Loop
from dlsp_engine.model.gpu.pool import PagedCache

if TYPE_CHECKING:
    from dlsp_engine.model.gpu.step import GpuQwen2


class CudaBackend:
    """The `Backend` of one model on a GPU.

    Greedy steps with the same canvas width share a step of the device loop (`Loop`), at most `GAP_COUNTS[-1]` at a
    time. Those of published caches have no canvas, as the adapter does not act on their rows, and steps of their own.
    All `RowsStep` entries of a batch share one forward pass.
    """

    drafts = True

    def __init__(self, model: "GpuQwen2", costs: Costs) -> None:
        self.model = model
        self.costs = costs
        self._loop = Loop(model)

    @property
    def replaced(self) -> dict[str, str]:
        """Name of each op that runs by its slow version -> why; empty if all are fast."""
        return self.model.failures

    def warm_up(self, width: int) -> None:
        """Compile the kernels and capture the graphs of the usual batch shapes. `width`: masks in a canvas."""
        self.model.warm_up()
        self._loop.warm_up(width)

    def step(self, batch: Sequence[RowsStep | GreedyStep]) -> list[Logits | Committed]:
        """Run the batch. Returns one result per entry, in the order of `batch`."""
        results: dict[int, Logits | Committed] = {}
        greedy = {index: step for index, step in enumerate(batch) if isinstance(step, GreedyStep)}
        for width, published in dict.fromkeys(map(_kind, greedy.values())):
            alike = [index for index, step in greedy.items() if _kind(step) == (width, published)]
            for start in range(0, len(alike), GAP_COUNTS[-1]):
                group = alike[start : start + GAP_COUNTS[-1]]
                results |= zip(group, self._greedy([greedy[index] for index in group], width), strict=True)
        others = {index: step for index, step in enumerate(batch) if isinstance(step, RowsStep)}
        if others:
            results |= zip(others, forward(self.model, self.costs, list(others.values())), strict=True)
        return [results[index] for index in range(len(batch))]

    def _greedy(self, steps: Sequence[GreedyStep], width: int) -> list[Committed]:
        began = time.perf_counter()
        states = [GapState(cast(PagedCache, step.cache), step.last, step.draft) for step in steps]
        found = self._loop.step(states, width)
        milliseconds = 1e3 * (time.perf_counter() - began)
        return [Committed(**vars(one), milliseconds=milliseconds) for one in found]


def _kind(step: GreedyStep) -> tuple[int, bool]:
    """The width of a step's canvas, and whether its cache is published."""
    return 0 if step.cache.published else step.width, step.cache.published
