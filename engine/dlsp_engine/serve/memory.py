"""The memory of this process: how much of it keys and values may take, and its return to the operating system."""

import ctypes
import sys
from pathlib import Path

import psutil

from dlsp_engine.errors import EngineError

MIN_KV_BYTES, MAX_KV_BYTES = 256_000_000, 2_000_000_000  # without a setting, whatever the machine has
KV_SHARE = 1 / 16  # of the machine's memory, between these two
CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container's memory
LARGE_BYTES = 4 * 2**20
M_MMAP_THRESHOLD = -3  # glibc, mallopt(3)


def kv_budget(setting: str, device_bytes: int | None = None) -> int:
    """Return how many bytes the keys and values of all sessions may take.

    `setting` is a number of megabytes, or empty for a share of the memory that this machine or container has.
    `device_bytes` is the size of a GPU's pool of keys and values, of which half is taken. Raises EngineError if the
    setting is no such number.
    """
    if setting:
        if not setting.isascii() or not setting.isdigit() or not 16 <= int(setting) <= 2**20:
            raise EngineError("DLSP_KV_MB must be a whole number of megabytes from 16 to 1048576.")
        return int(setting) * 10**6
    if device_bytes is not None:
        return device_bytes // 2
    return int(min(max(KV_SHARE * memory_bytes(), MIN_KV_BYTES), MAX_KV_BYTES))


def memory_bytes() -> int:
    """Return the memory that this machine, or the container that this process runs in, has."""
    whole = psutil.virtual_memory().total
    try:
        limit = CGROUP_LIMIT.read_text().strip()
    except OSError:
        return whole
    return min(whole, int(limit)) if limit.isdigit() else whole


def return_large_blocks() -> None:
    """Make glibc unmap blocks of 4 MiB and more as soon as they are freed, such as the KV caches of sessions.

    By default glibc raises this limit to the largest block that was freed, and then keeps the holes that freed sessions
    leave. Smaller blocks, such as the activations of a step, stay with the process: mapping them each time would cost
    page faults.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt:
            mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)


def return_freed_memory() -> None:
    """Make glibc return the memory that is free now, such as what loading took for a while; it keeps it otherwise."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim:
            trim(0)
