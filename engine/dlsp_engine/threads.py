"""Sets how many threads a step uses."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch


def physical() -> int:
    """Number of cores that this process may run on; two hardware threads of one core count once."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, psutil.cpu_count(logical=False) or allowed))


def on_battery() -> bool:
    battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
    return battery is not None and battery.power_plugged is False


def use(threads: int) -> int:
    """Set the number of PyTorch's threads and return it. 0 means all physical cores, or half of them on battery."""
    chosen = threads or (max(1, physical() // 2) if on_battery() else physical())
    torch.set_num_threads(chosen)
    return chosen


@contextmanager
def using(threads: int | None) -> Iterator[None]:
    """Run a block with at most `threads` PyTorch threads; None changes nothing."""
    every = torch.get_num_threads()
    if threads is None or threads >= every:
        yield
        return
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(every)
