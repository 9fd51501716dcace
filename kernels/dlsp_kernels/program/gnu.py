"""The threads of PyTorch's own OpenMP, where that is GNU's."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import torch

CALLED = ("omp_get_thread_num", "omp_get_num_threads", "GOMP_barrier")
"""What programs call."""


@cache
def team() -> Callable[..., None] | None:
    """Calls a function in each of some threads: its address, what it is given, how many, 0. None: no GNU OpenMP."""
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not libraries:
        return None
    gnus = ctypes.CDLL(str(libraries[0]))
    for name in CALLED:
        llvm.add_symbol(name, ctypes.cast(getattr(gnus, name), ctypes.c_void_p).value)
    parallel = gnus.GOMP_parallel
    parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return parallel
