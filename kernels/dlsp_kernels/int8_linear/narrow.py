"""`int8_linear` for few rows, on the weights that oneDNN packed: they come from memory faster than oneDNN reads them.

The program (`narrow_source`) is compiled by LLVM when it is first wanted, and runs on PyTorch's own threads. Sums are
whole numbers, so that the bits are oneDNN's.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import torch
from torch import Tensor

from dlsp_kernels.int8_linear.narrow_source import BLOCK, FIELDS, POINTERS, source

MOST = 32
"""Rows up to which this is faster than oneDNN."""

NEEDED = ("avx512f", "avx512bw", "avx512vl", "avx512vnni")


class Task(ctypes.Structure):
    """What the program reads."""

    _fields_ = [(name, ctypes.c_void_p if number < POINTERS else ctypes.c_int64) for number, name in enumerate(FIELDS)]


class Narrow:
    """The matrix [outs, ins] that lies packed at `address`; `zero` is what stands for 0 in x."""

    def __init__(self, run: Callable[[Task], None], address: int, ins: int, scale: Tensor, zero: int) -> None:
        self._run, self._outs = run, len(scale)
        blocks = -(-self._outs // BLOCK)
        self._scale = torch.ones(blocks * BLOCK)
        self._correction = torch.zeros(blocks * BLOCK, dtype=torch.int32)
        self._matrix = (address, self._correction.data_ptr(), self._scale.data_ptr())
        self._sizes = (blocks, ins // 4, self._outs)
        sums = self(torch.ones(1, ins, dtype=torch.uint8))[0]  # of each output's weights: exact in float32
        self._correction[: self._outs] = zero * sums.int()
        self._scale[: self._outs] = scale

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out]."""
        x, out = x.contiguous(), torch.empty(len(x), self._outs)
        self._run(Task(*self._matrix, x.data_ptr(), out.data_ptr(), *self._sizes, len(x)))
        return out


def size(outs: int, ins: int) -> int:
    """Bytes of a packed matrix."""
    return -(-outs // BLOCK) * BLOCK * ins


@cache
def program() -> Callable[[Task], None] | None:
    """None where there is no AVX-512 VNNI, or PyTorch's threads are not GNU's."""
    features = llvm.get_host_cpu_features()
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not libraries or not all(features.get(name) for name in NEEDED):
        return None
    threads = ctypes.CDLL(str(libraries[0]))
    for name in ("omp_get_thread_num", "omp_get_num_threads"):
        llvm.add_symbol(name, ctypes.cast(getattr(threads, name), ctypes.c_void_p).value)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features.flatten(), opt=3, jit=True
    )
    module = llvm.parse_assembly("\n".join(source()))
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = ctypes.c_void_p(engine.get_function_address("run"))
    parallel = threads.GOMP_parallel
    parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None

    def run(task: Task, keep: object = (engine, machine)) -> None:
        parallel(address, ctypes.addressof(task), torch.get_num_threads(), 0)

    return run
