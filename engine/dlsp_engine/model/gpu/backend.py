"""Runs the steps of a model on an NVIDIA GPU. Which rows a step has and what follows from its logits is decided as on a
CPU, so that answers, numbers of steps and drafts are the same.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from dlsp_engine.backend import RowsStep, Scored, forward
from dlsp_engine.decode.budget import Costs
from dlsp_engine.model.gpu.buffers import ROW_COUNTS

if TYPE_CHECKING:
    from dlsp_engine.model.gpu.step import GpuQwen2


class CudaBackend:
    """The `Backend` of one model on a GPU: one forward pass for all sessions of a step, which for up to EXACT_ROWS rows
    is one replay of a graph and one transfer.
    """

    most_rows = ROW_COUNTS[-1]

    def __init__(self, model: "GpuQwen2", costs: Costs) -> None:
        self.model = model
        self.costs = costs

    @property
    def replaced(self) -> dict[str, str]:
        """Name of each op that runs by its slow version -> why; empty if all are fast."""
        return self.model.failures

    def warm_up(self) -> None:
        """Compile the kernels and capture the graphs of all shapes of steps."""
        self.model.warm_up()

    @torch.inference_mode()
    def step(self, batch: Sequence[RowsStep]) -> list[Scored]:
        began = time.perf_counter()
        scores = self.model.scores([(step.cache, step.rows) for step in batch])
        if scores is None:
            return forward(self.model, self.costs, batch, summarise=True)
        milliseconds = 1e3 * (time.perf_counter() - began)
        results, start = [], 0
        for step in batch:
            results.append(Scored(scores[_slice([start + row for row in step.rows.scored])], milliseconds))
            start += len(step.rows)
        return results


def _slice(rows: list[int]) -> slice | list[int]:
    """The same rows as a slice, of which logits are a view, if they follow each other."""
    end = rows[-1] + 1 if rows else 0
    return slice(end - len(rows), end) if rows == list(range(end - len(rows), end)) else rows
