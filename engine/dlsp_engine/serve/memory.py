"""What the process gives back to the system."""

import ctypes
import sys

LARGE_BYTES = 4 * 2**20
M_MMAP_THRESHOLD = -3  # glibc, mallopt(3)


def return_large_blocks() -> None:
    """Let glibc unmap blocks of 4 MiB and more when they are freed, as caches of sessions are.

    By itself it raises this limit to the largest block seen, and then keeps the holes that sessions leave. Smaller
    blocks, the activations of a step, stay with the process: mapping them anew each time would cost page faults.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt:
            mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
