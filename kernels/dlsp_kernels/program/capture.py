"""Jobs captured, to be done again without Python in between: it takes longer from one small program to the next than
most of them run.
"""

import ctypes
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from threading import local
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from dlsp_kernels.program.crew import crew
from dlsp_kernels.program.crew_source import Job


class Memory:
    """Blocks for what is made within captures, which may share them if they are done one after the other.

    A block goes back when nothing refers to it any more. So what is made in a capture has the place that it has each
    time the capture is done again, and another thing may have that place before and after.
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []  # the smallest first
        self._back: deque[np.ndarray] = deque()  # what is free, too: by whichever thread let it go
        self._blocks: set[int] = set()

    def empty(self, *shape: int, dtype: torch.dtype) -> Tensor:
        size = prod(shape) * dtype.itemsize
        while self._back:
            insort(self._free, self._back.popleft(), key=len)
        best = bisect_left(self._free, size, key=len)
        block = self._free.pop(best) if best < len(self._free) else self._new(size)
        lent = block[:]  # all views of the tensor refer to it
        finalize(lent, self._back.append, block).atexit = False
        return torch.from_numpy(lent)[:size].view(dtype).view(shape)

    def _new(self, size: int) -> np.ndarray:
        """Of a power of two, lest shapes that grow row by row leave a block each."""
        block = torch.empty(1 << (size - 1).bit_length(), dtype=torch.uint8).numpy()
        self._blocks.add(block.ctypes.data)
        return block

    def __contains__(self, tensor: Tensor) -> bool:
        return tensor.untyped_storage().data_ptr() in self._blocks


class Capture:
    """What this thread does within `taken`, to be done `again` with what stands at the same places then."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._jobs: list[tuple[int, ctypes.Array, int, int]] = []
        self._kept: dict[int, Tensor] = {}

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Programs run as ever, and are taken down; what `empty` makes is in the memory."""
        _taking.capture = self
        try:
            yield
        finally:
            _taking.capture = None
        tasks = [word for _, task, _, _ in self._jobs for word in task]
        self._tasks = (ctypes.c_int64 * len(tasks))(*tasks)
        where, jobs = ctypes.addressof(self._tasks), []
        for run, task, items, alone in self._jobs:
            jobs += Job(run, where, items, alone)
            where += ctypes.sizeof(task)
        self._count, self._words = len(self._jobs), (ctypes.c_int64 * len(jobs))(*jobs)
        del self._jobs

    def add(self, run: int, task: ctypes.Array, items: int, alone: int, given: tuple[Tensor | int, ...]) -> None:
        """A job, with what its task points to."""
        self._jobs.append((run, task, items, alone))
        self._kept |= {id(each): each for each in given if isinstance(each, Tensor) and each not in self.memory}

    def again(self) -> None:
        """With as many `workers` as when it was taken, for whom there is room."""
        shared = crew()
        assert shared, "what was taken ran here"
        assert self._count, "there is something to do"
        shared.work_all(ctypes.addressof(self._words), self._count)


_taking = local()


def capturing() -> Capture | None:
    return getattr(_taking, "capture", None)


def contiguous(x: Tensor) -> Tensor:
    """As PyTorch's. Within a capture x must be so: a copy would never change again."""
    assert x.is_contiguous() or not capturing(), "a copy of what a capture reads"
    return x.contiguous()


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """As `torch.empty`, in the memory of the capture that is being taken, if any."""
    capture = capturing()
    return capture.memory.empty(*shape, dtype=dtype) if capture else torch.empty(*shape, dtype=dtype)
