"""The threads of PyTorch's own OpenMP, where that is GNU's."""

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import torch

CALLED = ("omp_get_thread_num", "omp_get_num_threads", "GOMP_barrier")
"""What programs call."""


def _library() -> ctypes.CDLL:
    """PyTorch's own, or the system's if that is what it has loaded. Raises OSError where there is none."""
    own = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    return ctypes.CDLL(str(own[0])) if own else ctypes.CDLL("libgomp.so.1", mode=getattr(os, "RTLD_NOLOAD", 0))


@cache
def team() -> Callable[..., None] | None:
    """Calls a function in each of some threads: its address, what it is given, how many, 0. None: no GNU OpenMP, or
    the system lets nobody run what was compiled just now.
    """
    try:
        llvm.check_jit_execution()
        gnus = _library()
    except OSError:
        return None
    for name in CALLED:
        llvm.add_symbol(name, ctypes.cast(getattr(gnus, name), ctypes.c_void_p).value)
    parallel = gnus.GOMP_parallel
    parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return parallel
