"""Captures a sequence of kernel calls, and replays it without Python.

From one small kernel to the next, Python takes longer than most of these kernels run.
"""

import ctypes
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import prod
from threading import local
from weakref import finalize

import numpy as np
import torch
from torch import Tensor

from dlsp_kernels.program.crew import crew
from dlsp_kernels.program.crew_source import Job

# A replay can be left between two of its parts. Each takes some microseconds more.
PARTS = 6


class Memory:
    """Memory for tensors that are made within captures. Captures may share it if they run one after the other.

    A block is free again when no tensor refers to it. So a tensor that is made within a capture has the same address at
    each replay, and other tensors may use that memory before and after it.
    """

    def __init__(self) -> None:
        self._free: list[np.ndarray] = []  # the smallest first
        self._back: deque[np.ndarray] = deque()  # free as well: any thread may append to it
        self._blocks: set[int] = set()

    def empty(self, *shape: int, dtype: torch.dtype) -> Tensor:
        """An uninitialised tensor, in the smallest free block that is large enough or else in a new one."""
        size = prod(shape) * dtype.itemsize
        while self._back:
            insort(self._free, self._back.popleft(), key=len)
        best = bisect_left(self._free, size, key=len)
        block = self._free.pop(best) if best < len(self._free) else self._new(size)
        lent = block[:]  # is alive as long as any view of the tensor
        finalize(lent, self._back.append, block).atexit = False
        return torch.from_numpy(lent)[:size].view(dtype).view(shape)

    def _new(self, size: int) -> np.ndarray:
        """A new block. Its size is a power of two, so that tensors which grow row by row do not each need a block of
        their own.
        """
        block = torch.empty(1 << (size - 1).bit_length(), dtype=torch.uint8).numpy()
        self._blocks.add(block.ctypes.data)
        return block

    def __contains__(self, tensor: Tensor) -> bool:
        """Whether the tensor is in this memory."""
        return tensor.untyped_storage().data_ptr() in self._blocks


class Capture:
    """The kernel calls that a thread makes within `taken`. `again` repeats them on the same addresses, with what these
    hold then.
    """

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._jobs: list[tuple[int, ctypes.Array, int, int]] = []
        self._kept: dict[int, Tensor] = {}

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Record within this context. Kernels run as usual, and tensors made by `empty` are in the capture's memory."""
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
        """Record a call of the kernel at address `run`. Its tensors are kept alive, except those in the capture's
        memory.
        """
        self._jobs.append((run, task, items, alone))
        self._kept |= {id(each): each for each in given if isinstance(each, Tensor) and each not in self.memory}

    def again(self, between: Callable[[], None] = lambda: None) -> None:
        """Replay, and call `between` before each of PARTS parts; what it raises ends the replay. The number of
        `workers` must be that of the recording, because there is scratch memory for each of them.
        """
        shared = crew()
        assert shared, "what was taken ran here"
        assert self._count, "there is something to do"
        first, size = ctypes.addressof(self._words), len(Job._fields) * ctypes.sizeof(ctypes.c_int64)
        for part in range(PARTS):
            begin, end = (self._count * at // PARTS for at in (part, part + 1))
            between()
            if begin < end:
                shared.work_all(first + begin * size, end - begin)


_taking = local()


def capturing() -> Capture | None:
    """The capture that this thread is recording; None if there is none."""
    return getattr(_taking, "capture", None)


def contiguous(x: Tensor) -> Tensor:
    """As `Tensor.contiguous`. Within a capture, x must be contiguous already: a replay would not update a copy."""
    assert x.is_contiguous() or not capturing(), "a copy of what a capture reads"
    return x.contiguous()


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """As `torch.empty`. Within a capture, the tensor is in the capture's memory."""
    capture = capturing()
    return capture.memory.empty(*shape, dtype=dtype) if capture else torch.empty(*shape, dtype=dtype)
