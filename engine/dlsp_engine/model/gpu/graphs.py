"""CUDA graphs of whole steps: one replay takes the place of hundreds of kernel launches."""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dlsp_kernels.ops import is_devices, reason

log = logging.getLogger(__name__)

# After its first failed capture, a step runs launch by launch so many times before it is captured again; after each
# further failure, twice as often.
FIRST_WAIT = 16

Result = tuple[Tensor, ...]


@dataclass
class Failure:
    """Why the last capture of a step failed, how many have, and how many runs of it are left until the next one."""

    why: str
    count: int = 0
    left: int = 0


class Graphs:
    """One captured CUDA graph per key. Where a capture fails, the steps of that key run as single kernel launches until
    it is tried again; other keys are captured.
    """

    def __init__(self, wanted: bool, slow_calls: Callable[[], int]) -> None:
        """`wanted` False captures nothing. `slow_calls` returns how often slow versions of kernels have run, which
        cannot be captured.
        """
        self.wanted = wanted
        self._slow_calls = slow_calls
        self._captured: dict[Hashable, tuple[Any, Result]] = {}
        self._failures: dict[Hashable, Failure] = {}
        self._memory: Any = None

    @property
    def failure(self) -> str | None:
        """Why some step is not captured; None if all are."""
        return next((failure.why for failure in self._failures.values()), None)

    def ready(self, key: Hashable) -> bool:
        """Whether a call with this key runs its step exactly once, without a run for compilation and capture."""
        if not self.wanted or key in self._captured:
            return True
        failure = self._failures.get(key)
        return failure is not None and failure.left > 0

    def prepare(self, key: Hashable, step: Callable[[], Result]) -> None:
        """Run `step` once, which compiles its kernels, then capture it under `key`. Does nothing if `key` is `ready`.

        The step must read its inputs from the same addresses at every replay. Raises what the device cannot recover
        from.
        """
        if self.ready(key):
            return
        # PyTorch requires a warm-up run on a side stream before a capture.
        side, slow = torch.cuda.Stream(), self._slow_calls()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            result = step()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        if self._slow_calls() > slow:
            self._failed(key, "a slow version of a kernel cannot be captured")
            return
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._memory, capture_error_mode="thread_local"):
                # Outside of the memory that all graphs share: the replay of another one leaves it as it is.
                for kept, found in zip(result, step(), strict=True):
                    kept.copy_(found)
        except RuntimeError as error:
            full = isinstance(error, torch.OutOfMemoryError)
            if is_devices(error) and not full:
                raise
            if not full and _run_in_turn():
                log.warning("Overlapping kernels cannot be captured here; they run in turn (%s)", reason(error))
                return self.prepare(key, step)
            self._failed(key, reason(error))
            return
        self._memory = graph.pool()
        self._failures.pop(key, None)
        self._captured[key] = (graph, result)

    def __call__(self, key: Hashable, step: Callable[[], Result]) -> Result:
        """Run the step of this key by replaying its graph, captured first if necessary, and return its result, which
        the next step of this key overwrites.
        """
        self.prepare(key, step)
        if key not in self._captured:
            if failure := self._failures.get(key):
                failure.left -= 1
            return step()
        graph, result = self._captured[key]
        graph.replay()
        return result

    def __len__(self) -> int:
        return len(self._captured)

    def _failed(self, key: Hashable, why: str) -> None:
        before = self._failures.get(key)
        count = before.count if before else 0
        self._failures[key] = Failure(why, count + 1, FIRST_WAIT << count)
        if not count:
            log.warning("A step cannot be captured here and runs launch by launch (%s)", why)


def _run_in_turn() -> bool:
    """Let kernels run one after the other from now on; False if they do already. Without Triton none overlap."""
    try:
        from dlsp_kernels import overlap
    except ImportError:
        return False
    overlapped, overlap.wanted = overlap.wanted, False
    return overlapped
