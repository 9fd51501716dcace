"""`int8_linear` by a program of ours (`source`), compiled by LLVM when it is first wanted, on PyTorch's own threads.

Sums are whole numbers: a row has the same bits whatever comes beside it, and on any number of threads.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import torch
import torch.nn.functional as F
from torch import Tensor

from dlsp_kernels.int8_linear.source import FIELDS, POINTERS, Instructions, source


class Task(ctypes.Structure):
    """What the program reads."""

    _fields_ = [(name, ctypes.c_void_p if number < POINTERS else ctypes.c_int64) for number, name in enumerate(FIELDS)]


@dataclass(frozen=True)
class Compiled:
    """Matrices for a processor with these instructions."""

    kind: Instructions

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def levels(self) -> int:
        return self.kind.levels

    def here(self) -> bool:
        """Whether the processor has the instructions, and PyTorch was not told to do without vectors so wide."""
        features, used = llvm.get_host_cpu_features(), torch.backends.cpu.get_cpu_capability()
        return all(features.get(name) for name in self.kind.features) and (
            used.startswith("AVX512") if self.kind.lanes == 16 else used.startswith("AVX")
        )

    def laid(self, weight: Tensor) -> Tensor:
        """int8 [out, in] -> [blocks, fours, block, 4], filled up with zeros. ValueError: the inputs make no fours."""
        outs, ins = weight.shape
        if ins % 4:
            raise ValueError(f"the inputs come in fours, not {ins}")
        padded = F.pad(weight, (0, 0, 0, -outs % self.kind.block))
        return padded.view(-1, self.kind.block, ins // 4, 4).transpose(1, 2).contiguous()

    def matrix(self, laid: Tensor, scale: Tensor) -> "CompiledMatrix":
        """`laid` is read where it lies, `scale` is float32 [out]. RuntimeError: the program cannot run."""
        return CompiledMatrix(program(self.kind), laid, scale, self.levels + 1)


class CompiledMatrix:
    def __init__(self, run: Callable[[Task], None], laid: Tensor, scale: Tensor, zero: int) -> None:
        """`zero` is what stands for 0 in x."""
        self.laid, self.scale = laid, scale
        blocks, fours, block, _ = laid.shape
        self._run, self._sizes = run, (blocks, fours, len(scale))
        self._correction, self._factor = torch.zeros(blocks * block, dtype=torch.int32), torch.ones(blocks * block)
        sums = self(torch.ones(1, 4 * fours, dtype=torch.uint8))[0]  # of each output's weights: exact in float32
        self._correction[: len(scale)] = zero * sums.int()
        self._factor[: len(scale)] = scale

    def __call__(self, x: Tensor) -> Tensor:
        """x uint8 [rows, in] -> float32 [rows, out], still to be multiplied by x's scales."""
        x, out = x.contiguous(), torch.empty(len(x), len(self.scale))
        tensors = self.laid, self._correction, self._factor, x, out
        self._run(Task(*(tensor.data_ptr() for tensor in tensors), *self._sizes, len(x)))
        return out


@cache
def program(kind: Instructions) -> Callable[[Task], None]:
    """Raises RuntimeError where PyTorch's threads are not GNU's."""
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not libraries:
        raise RuntimeError("PyTorch brings no libgomp here")
    threads = ctypes.CDLL(str(libraries[0]))
    for name in ("omp_get_thread_num", "omp_get_num_threads"):
        llvm.add_symbol(name, ctypes.cast(getattr(threads, name), ctypes.c_void_p).value)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = ",".join(f"+{name}" for name in kind.features)
    machine = llvm.Target.from_default_triple().create_target_machine(features=features, opt=3, jit=True)
    module = llvm.parse_assembly(source(kind))
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = ctypes.c_void_p(engine.get_function_address("run"))
    parallel = threads.GOMP_parallel
    parallel.argtypes, parallel.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None

    def run(task: Task, keep: object = (engine, machine)) -> None:
        parallel(address, ctypes.addressof(task), torch.get_num_threads(), 0)

    return run
