"""The threads that share the items of a program.

Whoever calls a program begins at once; the others take items as they come. OpenMP's teams wait for all of their threads
at every op, ours for items that were begun: what another program on this machine takes from one thread, the others make
up for.
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
"""Items of little work that the caller does alone."""


class Crew:
    """Its helpers start when they are first wanted and end with the process."""

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
        atexit.register(self.dismiss)  # before the memory of what they run goes

    def work(self, run: int, task: int, items: int, alone: int) -> None:
        """`run(task, begin, end, worker)`, an address, for all items by the `workers`; so few the caller does alone."""
        self._work(self._state, run, task, items, alone, self._threads())

    def work_all(self, jobs: int, count: int) -> None:
        """One job after another, as `work` does each: at this address stand run, task, items and alone of each."""
        self._work_all(self._state, jobs, count, self._threads())

    def _threads(self) -> int:
        threads = min(workers(), MOST)
        if len(self._helpers) < threads - 1:
            self._hire(threads - 1)
        return threads

    def dismiss(self) -> None:
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
    """Of a program, whoever calls it included: the threads that PyTorch uses, or used before `leading`."""
    return getattr(_leading, "threads", None) or torch.get_num_threads()


@contextmanager
def leading() -> Iterator[None]:
    """Within it the crew has the threads that PyTorch had, and PyTorch this one: its own would spin beside ours."""
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
    """None where there can be none: an unknown system, or one that lets nobody run what was compiled just now."""
    try:
        llvm.check_jit_execution()
        return Crew(system) if (system := System.here()) else None
    except (OSError, AttributeError):  # the second of calls that the system lacks
        return None
