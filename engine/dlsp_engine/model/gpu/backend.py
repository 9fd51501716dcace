"""Runs the steps of a model on an NVIDIA GPU. Which rows a step has and what follows from its logits is decided as on a
CPU, so that answers, numbers of steps and drafts are the same.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from dlsp_engine.backend import RowsStep, Scored, forward
from dlsp_engine.decode.budget import Costs
from dlsp_engine.decode.scores import summarised

if TYPE_CHECKING:
    from dlsp_engine.model.gpu.step import GpuQwen2


class CudaBackend:
    """The `Backend` of one model on a GPU: one forward pass for all sessions of a step."""

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
        return forward(self.model, self.costs, batch, summarised)
