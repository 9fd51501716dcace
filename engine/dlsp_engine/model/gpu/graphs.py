"""Steps captured as CUDA graphs: hundreds of launches become one."""

import logging
from collections.abc import Callable, Hashable
from typing import Any

import torch

from dlsp_kernels import overlap
from dlsp_kernels.ops import reason

log = logging.getLogger(__name__)


class Graphs:
    """One graph a key. Where nothing can be captured, the step runs launch by launch."""

    def __init__(self, wanted: bool, capturable: Callable[[], bool]) -> None:
        """`capturable` is asked after a step has run once."""
        self.failure: str | None = None
        self.wanted = wanted
        self._capturable = capturable
        self._held: dict[Hashable, tuple[Any, Any]] = {}
        self._memory: Any = None

    def ready(self, key: Hashable) -> bool:
        """Whether a call with this key runs `step` once and no more."""
        return not self.wanted or key in self._held

    def prepare(self, key: Hashable, step: Callable[[], Any]) -> None:
        """Run `step` once, which compiles what it needs, and capture it. Its inputs must keep their addresses."""
        if self.ready(key):
            return
        # Capturing takes a stream that has seen the launches before.
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
            if overlap.wanted:
                overlap.wanted = False
                log.warning("Overlapping kernels cannot be captured here; they run in turn (%s)", reason(error))
                return self.prepare(key, step)
            self.wanted, self.failure = False, reason(error)
            log.warning("A step cannot be captured here and runs launch by launch (%s)", self.failure)
            return
        self._memory = graph.pool()
        self._held[key] = (graph, result)

    def __call__(self, key: Hashable, step: Callable[[], Any]) -> Any:
        """What `step` returns, computed anew; tensors are overwritten by the next call with the same key."""
        self.prepare(key, step)
        if key not in self._held:
            return step()
        graph, result = self._held[key]
        graph.replay()
        return result

    def __len__(self) -> int:
        return len(self._held)
