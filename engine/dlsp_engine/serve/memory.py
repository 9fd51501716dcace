"""Returns freed memory to the operating system."""

import ctypes
import sys

LARGE_BYTES = 4 * 2**20
M_MMAP_THRESHOLD = -3  # glibc, mallopt(3)


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
