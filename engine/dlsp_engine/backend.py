"""Where steps run: one interface, which CPUs implement here and NVIDIA GPUs in `model.gpu.backend`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from torch import Tensor

from dlsp_engine.decode.budget import Costs
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows
from dlsp_engine.threads import using

if TYPE_CHECKING:
    from dlsp_engine.model.qwen2 import Model


@dataclass(frozen=True)
class RowsStep:
    """One session's part of a step: rows whose logits the caller reads."""

    cache: Cache
    rows: Rows


@dataclass(frozen=True)
class GreedyStep:
    """One session's part of a step that the backend lays out, verifies and drafts by itself.

    `last` is the only token that is not cached, `draft` what may follow it; the next draft has at most `width` tokens.
    """

    cache: Cache
    last: int
    draft: tuple[int, ...]
    width: int


@dataclass(frozen=True)
class Logits:
    """The result of a RowsStep: float32 [scored rows, vocab]."""

    logits: Tensor
    milliseconds: float  # of the whole step, also where sessions shared it


@dataclass(frozen=True)
class Committed:
    """The result of a GreedyStep: the tokens that were committed and the next draft, each with its probability."""

    tokens: list[int]
    probability: list[float]
    draft: list[int]
    draft_probability: list[float]
    rows: int
    milliseconds: float


class Backend(Protocol):
    """Runs steps of one model, for any number of sessions at once. Holds no state of a session."""

    costs: Costs
    drafts: bool
    """Whether it takes a GreedyStep. Then rows of prompts and of answers go into steps of their own."""

    @property
    def replaced(self) -> dict[str, str]:
        """Kernels that do not work here and run by their slow version, and why."""
        ...

    def step(self, batch: Sequence[RowsStep | GreedyStep]) -> list[Logits | Committed]:
        """Run one step for all sessions in `batch`; the results are in their order.

        Each cache then holds all of its session's rows behind its `length`, which does not move: the caller decides
        which of them are kept.
        """
        ...

    def warm_up(self, width: int) -> None:
        """Prepare the usual steps, with canvases of `width` masks, so that no request waits for it."""


class CpuBackend:
    """One forward for all sessions of a step, on as many threads as are fastest for its rows."""

    drafts = False

    def __init__(self, model: "Model", costs: Costs) -> None:
        self.model = model
        self.costs = costs

    @property
    def replaced(self) -> dict[str, str]:
        return {}

    def warm_up(self, width: int) -> None:
        """Nothing needs it on a CPU."""

    def step(self, batch: Sequence[RowsStep | GreedyStep]) -> list[Logits | Committed]:
        own = [step for step in batch if isinstance(step, RowsStep)]
        assert len(own) == len(batch), "a CPU takes no GreedyStep"
        return [*forward(self.model, self.costs, own)]


def forward(model: "Model", costs: Costs, batch: Sequence[RowsStep]) -> list[Logits]:
    """One forward pass, and the head for the rows that are scored."""
    began = time.perf_counter()
    scored, start = [], 0
    for step in batch:
        scored += [start + row for row in step.rows.scored]
        start += len(step.rows)
    with using(costs.threads_for(start)):
        hidden = model.forward([(step.cache, step.rows) for step in batch])
        logits = model.head(hidden[scored]) if scored else hidden[:0]
    milliseconds = 1e3 * (time.perf_counter() - began)
    parts = logits.split([len(step.rows.scored) for step in batch])
    return [Logits(part, milliseconds) for part in parts]
