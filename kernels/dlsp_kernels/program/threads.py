"""Programs in LLVM's language, compiled when they are first wanted and run by PyTorch's own threads."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import torch

from dlsp_kernels.program.instructions import Instructions

CALLED = ("omp_get_thread_num", "omp_get_num_threads", "GOMP_barrier")


def compiled(source: str, kind: Instructions) -> Callable[[ctypes.Structure], None]:
    """Calls the source's `run` with a task's address in each thread. RuntimeError: PyTorch's threads are not GNU's."""
    team = _team()
    features = ",".join(f"+{name}" for name in kind.features)
    machine = llvm.Target.from_default_triple().create_target_machine(features=features, opt=3, jit=True)
    module = llvm.parse_assembly(source)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = ctypes.c_void_p(engine.get_function_address("run"))

    def run(task: ctypes.Structure, keep: object = (engine, machine)) -> None:
        team(address, ctypes.addressof(task), torch.get_num_threads(), 0)

    return run


@cache
def _team() -> Callable[..., None]:
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not libraries:
        raise RuntimeError("PyTorch brings no libgomp here")
    gnus = ctypes.CDLL(str(libraries[0]))
    for name in CALLED:
        llvm.add_symbol(name, ctypes.cast(getattr(gnus, name), ctypes.c_void_p).value)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    team = gnus.GOMP_parallel
    team.argtypes, team.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint], None
    return team


def fields(pointers: str, numbers: str) -> type[ctypes.Structure]:
    """A task: its pointers by name, then its numbers, as `writing.entry` reads them."""
    names = [(name, ctypes.c_void_p) for name in pointers.split()] + [
        (name, ctypes.c_int64) for name in numbers.split()
    ]
    return type("Task", (ctypes.Structure,), {"_fields_": names})
