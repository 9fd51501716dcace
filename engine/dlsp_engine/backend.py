"""`Backend`, the interface that runs steps of the model, and its implementation for CPUs. The one for NVIDIA GPUs is in
`model.gpu.backend`.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import local
from typing import TYPE_CHECKING, Protocol

from dlsp_engine.decode.budget import Costs
from dlsp_engine.decode.scores import Scores, Summary, summary_columns
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows
from dlsp_engine.threads import using

if TYPE_CHECKING:
    from dlsp_engine.model.qwen2 import Model

STEP_ROWS = 128  # of a step on a CPU at most, so that a new request never waits long for it to end


@dataclass(frozen=True)
class RowsStep:
    """One session's rows in a step. The backend returns the scores of those in `rows.scored`."""

    cache: Cache
    rows: Rows


@dataclass(frozen=True)
class Scored:
    """The result of a RowsStep: the scores of its scored rows."""

    scores: Scores
    milliseconds: float  # of the whole step, even if sessions shared it


class Interrupted(Exception):
    """A step was left before its end. It may be run again: what it has written lies behind the caches' `length`."""


_asked = local()


@contextmanager
def interruptible(stop: Callable[[], bool]) -> Iterator[None]:
    """Within this context, a step of this thread that finds `stop()` true between two layers raises Interrupted. Steps
    on a GPU always run to their end.
    """
    _asked.stop = stop
    try:
        yield
    finally:
        _asked.stop = None


def leave_if_asked() -> None:
    """Raise Interrupted if this thread's step is to be left."""
    stop = getattr(_asked, "stop", None)
    if stop and stop():
        raise Interrupted


class Backend(Protocol):
    """Runs steps of one model, each for any number of sessions. Keeps no state of its own for a session."""

    costs: Costs
    # Of a step at most, unless one request alone needs more.
    most_rows: int

    @property
    def replaced(self) -> dict[str, str]:
        """Kernels that do not work on this machine, so that their slow versions run: name -> reason."""
        ...

    def step(self, batch: Sequence[RowsStep]) -> list[Scored]:
        """Run one step for all sessions in `batch`; the results are in the same order.

        Afterwards each KV cache also holds the session's new rows, behind its `length`. `length` itself does not
        change: the caller decides how many of the new rows to keep.
        """
        ...

    def warm_up(self) -> None:
        """Prepare the usual steps, so that no request has to wait for this."""


class CpuBackend:
    """Runs one forward pass for all sessions of a step, on as many threads as are fastest for its number of rows."""

    most_rows = STEP_ROWS

    def __init__(self, model: "Model", costs: Costs) -> None:
        self.model = model
        self.costs = costs

    @property
    def replaced(self) -> dict[str, str]:
        return {}

    def warm_up(self) -> None:
        """Does nothing: a CPU needs no preparation."""

    def step(self, batch: Sequence[RowsStep]) -> list[Scored]:
        return forward(self.model, self.costs, batch)


def forward(model: "Model", costs: Costs, batch: Sequence[RowsStep], summarise: bool = False) -> list[Scored]:
    """Run one forward pass over all rows of `batch`, and the output head for the scored rows only. The results are in
    the order of `batch`. `summarise`: whether to bring a summary of all logits from the device.
    """
    began = time.perf_counter()
    scored, start = [], 0
    for step in batch:
        scored += [start + row for row in step.rows.scored]
        start += len(step.rows)
    with using(costs.threads_for(start)):
        hidden = model.forward([(step.cache, step.rows) for step in batch])
        if scored != list(range(len(hidden))):
            hidden = hidden[scored]
        logits = model.head(hidden) if scored else hidden
        summary = None
        if summarise and scored:
            canvas = any(number > 0 for step in batch for number in step.rows.canvas)
            summary = Summary.of(summary_columns(logits, canvas))
    milliseconds = 1e3 * (time.perf_counter() - began)
    found = Scores(logits, summary)
    results, end = [], 0
    for step in batch:
        end += len(step.rows.scored)
        results.append(Scored(found[end - len(step.rows.scored) : end], milliseconds))
    return results
