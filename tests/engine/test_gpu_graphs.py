"""What becomes of a step that cannot be captured, told by stand-ins for the device: none is at hand."""

from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch

from dlsp_engine.model.gpu.graphs import FIRST_WAIT, Graphs, Result
from dlsp_kernels import overlap


@pytest.fixture(autouse=True)
def overlapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "wanted", True)


def device(monkeypatch: pytest.MonkeyPatch, captures: Callable[[], Exception | None]) -> None:
    """Stand-ins for torch.cuda's streams and graphs. A capture fails by what `captures` returns."""

    @contextmanager
    def graph(*inputs: object, **options: object):
        yield
        if error := captures():
            raise error

    stream = SimpleNamespace(wait_stream=lambda other: None)
    recorded = SimpleNamespace(pool=lambda: None, replay=lambda: None)
    for name, value in {
        "Stream": lambda: stream,
        "current_stream": lambda: stream,
        "stream": lambda side: nullcontext(),
        "synchronize": lambda: None,
        "CUDAGraph": lambda: recorded,
        "graph": graph,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)


def never() -> int:
    return 0


def seven() -> Result:
    return (torch.tensor(7),)


FORBIDDEN = RuntimeError("operation not permitted when stream is capturing")


def test_kernels_that_cannot_be_captured_overlapping_are_captured_in_turn(monkeypatch: pytest.MonkeyPatch):
    device(monkeypatch, lambda: FORBIDDEN if overlap.wanted else None)
    graphs = Graphs(True, never)
    assert graphs("step", seven) == (7,)
    assert (len(graphs), graphs.failure, overlap.wanted) == (1, None, False)


def test_what_cannot_be_captured_runs_launch_by_launch_and_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    tried: list[int] = []
    device(monkeypatch, lambda: tried.append(1) or FORBIDDEN)
    overlap.wanted = False
    graphs = Graphs(True, never)
    for _ in range(1 + FIRST_WAIT):
        assert graphs("step", seven) == (7,)
    assert (len(graphs), len(tried)) == (0, 2)
    assert graphs.failure == "RuntimeError: operation not permitted when stream is capturing"
    for _ in range(FIRST_WAIT):
        graphs("step", seven)
    assert len(tried) == 2, "the second time it waits twice as long"


def test_a_moment_without_memory_costs_one_step_its_graph_for_a_while(monkeypatch: pytest.MonkeyPatch):
    """Other steps are captured, overlapping."""
    errors: list[Exception | None] = [torch.OutOfMemoryError("CUDA out of memory"), None, None]
    device(monkeypatch, lambda: errors.pop(0))
    graphs = Graphs(True, never)
    assert graphs("first", seven) == (7,)
    assert (len(graphs), overlap.wanted) == (0, True)
    assert "out of memory" in (graphs.failure or "")
    graphs("second", seven)
    assert len(graphs) == 1
    for _ in range(FIRST_WAIT):
        graphs("first", seven)
    assert (len(graphs), graphs.failure) == (2, None)


def test_a_device_that_has_failed_is_not_hidden(monkeypatch: pytest.MonkeyPatch):
    device(monkeypatch, lambda: RuntimeError("CUDA error: an illegal memory access was encountered"))
    with pytest.raises(RuntimeError, match="illegal"):
        Graphs(True, never)("step", seven)


def test_only_the_steps_with_slow_versions_are_not_captured(monkeypatch: pytest.MonkeyPatch):
    device(monkeypatch, lambda: None)
    slow: list[int] = []
    graphs = Graphs(True, lambda: len(slow))
    graphs("slow", lambda: slow.append(1) or seven())
    graphs("fast", seven)
    assert len(graphs) == 1
    assert graphs.failure == "a slow version of a kernel cannot be captured"


def test_a_result_is_not_in_the_memory_of_the_graph(monkeypatch: pytest.MonkeyPatch):
    """It is the tensor of the run before the capture, which other graphs' replays do not overwrite."""
    device(monkeypatch, lambda: None)
    made: list[Result] = []
    graphs = Graphs(True, never)
    assert graphs("step", lambda: made.append(seven()) or made[-1]) is made[0]
