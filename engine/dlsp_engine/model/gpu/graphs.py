"""CUDA graphs of whole steps: one replay takes the place of hundreds of kernel launches."""

import logging
from collections.abc import Callable, Hashable
from typing import Any

import torch

from dlsp_kernels.ops import reason

log = logging.getLogger(__name__)


class Graphs:
    """One captured CUDA graph per key. After a capture has failed, further steps run as single kernel launches."""

    def __init__(self, wanted: bool, capturable: Callable[[], bool]) -> None:
        """`wanted` False captures nothing. `capturable` is called after a step's first run and says whether it can be
        captured.
        """
        self.failure: str | None = None
        self.wanted = wanted
        self._capturable = capturable
        self._captured: dict[Hashable, tuple[Any, Any]] = {}
        self._memory: Any = None

    def ready(self, key: Hashable) -> bool:
        """Whether a call with this key runs its step exactly once, without a run for compilation and capture."""
        return not self.wanted or key in self._captured

    def prepare(self, key: Hashable, step: Callable[[], Any]) -> None:
        """Run `step` once, which compiles its kernels, then capture it under `key`. Does nothing if `key` is `ready`.

        The step must read its inputs from the same addresses at every replay. If the capture fails, `failure` says why.
        """
        if self.ready(key):
            return
        # PyTorch requires a warm-up run on a side stream before a capture.
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        if not self._capturable():
            self.wanted, self.failure = False, "a slow version of a kernel cannot be captured"
            return
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._memory, capture_error_mode="thread_local"):
                result = step()
        except RuntimeError as error:
            if _run_in_turn():
                log.warning("Overlapping kernels cannot be captured here; they run in turn (%s)", reason(error))
                return self.prepare(key, step)
            self.wanted, self.failure = False, reason(error)
            log.warning("A step cannot be captured here and runs launch by launch (%s)", self.failure)
            return
        self._memory = graph.pool()
        self._captured[key] = (graph, result)

    def __call__(self, key: Hashable, step: Callable[[], Any]) -> Any:
        """Run the step of this key by replaying its graph, captured first if necessary, and return its result.

        The result lies in memory shared by all graphs: copy it before any other replay.
        """
        self.prepare(key, step)
        if key not in self._captured:
            return step()
        graph, result = self._captured[key]
        graph.replay()
        return result

    def __len__(self) -> int:
        return len(self._captured)


def _run_in_turn() -> bool:
    """Let kernels run one after the other from now on; False if they do already. Without Triton none overlap."""
    try:
        from dlsp_kernels import overlap
    except ImportError:
        return False
    overlapped, overlap.wanted = overlap.wanted, False
    return overlapped
