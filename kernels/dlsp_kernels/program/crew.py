"""The threads that share the items of a kernel.

The thread that calls a kernel begins at once; helper threads join it and take items. OpenMP waits for all its threads
at every op. The crew waits only for items that were begun. So if another process slows down one thread, the others do
its share.
"""

import atexit
import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock, Thread, local
from typing import Any

import llvmlite.binding as llvm
import torch

from dlsp_kernels.program.crew_source import LINE, MOST, SIZE, source
from dlsp_kernels.program.machine_code import machine_code
from dlsp_kernels.program.system import System

ALONE = 16
"""Up to this many items, if each is little work, the caller does them alone."""


class Crew:
    """The helper threads of this process. They start when they are first needed, and end with the process."""

    def __init__(self, system: System) -> None:
        for name, address in system.calls().items():
            llvm.add_symbol(name, address)
        self._engine = engine = machine_code(source(system), ())
        memory = ctypes.create_string_buffer(SIZE + LINE)
        self._memory, self._state = memory, -(-ctypes.addressof(memory) // LINE) * LINE
        pointer, number = ctypes.c_void_p, ctypes.c_int64

        def of(name: str, *kinds: type) -> Any:
            return ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address(name))

        self._work = of("work", pointer, number, pointer, number, number, number)
        self._work_all = of("work_all", pointer, pointer, number, number)
        self._help, self._dismiss = of("help", pointer, number), of("dismiss", pointer)
        self._helpers: list[Thread] = []
        self._hiring = Lock()
        atexit.register(self.dismiss)  # before the code that they run is freed

    def work(self, run: int, task: int, items: int, alone: int) -> None:
        """Call the function at address `run` as `run(task, begin, end, worker)` until all items are done, on all
        `workers`.

        The caller does at most `alone` items without the others.
        """
        self._work(self._state, run, task, items, alone, self._threads())

    def work_all(self, jobs: int, count: int) -> None:
        """Do `count` jobs one after the other, each as in `work`. `jobs` is the address of an array of `Job`."""
        self._work_all(self._state, jobs, count, self._threads())

    def _threads(self) -> int:
        """The number of workers, including the caller. Starts the helpers that are missing."""
        threads = min(workers(), MOST)
        if len(self._helpers) < threads - 1:
            self._hire(threads - 1)
        return threads

    def dismiss(self) -> None:
        """End the helper threads, and wait until they have ended."""
        self._dismiss(self._state)
        for helper in self._helpers:
            helper.join()

    def _hire(self, helpers: int) -> None:
        with self._hiring:
            while len(self._helpers) < helpers:
                number = len(self._helpers) + 1
                helper = Thread(target=self._help, args=(self._state, number), name=f"crew {number}", daemon=True)
                helper.start()
                self._helpers.append(helper)


_leading = local()


def workers() -> int:
    """The number of threads for a kernel, including the caller: PyTorch's number of threads, or what that was before
    `leading`.
    """
    return getattr(_leading, "threads", None) or torch.get_num_threads()


@contextmanager
def leading() -> Iterator[None]:
    """Within this context, the crew has PyTorch's number of threads, and PyTorch only one.

    Otherwise PyTorch's idle threads would spin and take time from the crew's.
    """
    threads = torch.get_num_threads()
    _leading.threads = threads
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        del _leading.threads


@cache
def crew() -> Crew | None:
    """The crew of this process. None if the operating system is not supported, or forbids running code that was just
    compiled.
    """
    try:
        llvm.check_jit_execution()
        return Crew(system) if (system := System.here()) else None
    except (OSError, AttributeError):  # AttributeError: the system lacks a function
        return None
