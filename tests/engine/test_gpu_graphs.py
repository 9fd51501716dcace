"""What becomes of a step that cannot be captured, told by stand-ins for the device: none is at hand."""

from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch

from dlsp_engine.model.gpu.graphs import Graphs
from dlsp_kernels import overlap


@pytest.fixture(autouse=True)
def overlapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "wanted", True)


def device(monkeypatch: pytest.MonkeyPatch, captures: Callable[[], bool]) -> None:
    @contextmanager
    def graph(*inputs: object, **options: object):
        yield
        if not captures():
            raise RuntimeError("operation not permitted when stream is capturing")

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


def test_kernels_that_cannot_be_captured_overlapping_are_captured_in_turn(monkeypatch: pytest.MonkeyPatch):
    device(monkeypatch, captures=lambda: not overlap.wanted)
    graphs = Graphs(True, lambda: True)
    assert graphs("step", lambda: 7) == 7
    assert (len(graphs), graphs.failure, overlap.wanted) == (1, None, False)


def test_what_cannot_be_captured_at_all_runs_launch_by_launch(monkeypatch: pytest.MonkeyPatch):
    device(monkeypatch, captures=lambda: False)
    graphs = Graphs(True, lambda: True)
    assert graphs("step", lambda: 7) == 7
    assert (len(graphs), graphs.wanted) == (0, False)
    assert graphs.failure == "RuntimeError: operation not permitted when stream is capturing"
