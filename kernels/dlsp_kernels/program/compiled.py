"""Programs in LLVM's language, compiled when they are first wanted and run by PyTorch's own threads."""

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm
import torch
from torch import Tensor

from dlsp_kernels.program.gnu import team
from dlsp_kernels.program.instructions import Instructions

Program = Callable[..., None]

FEW = 16
"""Rows that one thread takes where they mean little work: two wait for each other on a machine that is not idle."""


def compiled(source: str, pointers: str, numbers: str, kind: Instructions) -> Program:
    """The source's `run`: called with a tensor for each pointer's name, then with the numbers, it runs in `threads`
    threads, or in all. The instructions must be `here`.
    """
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = ",".join(f"+{name}" for name in kind.features)
    machine = llvm.Target.from_default_triple().create_target_machine(features=features, opt=3, jit=True)
    module = llvm.parse_assembly(source)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    # `run` keeps the engine, without which its memory goes.
    address, parallel = ctypes.c_void_p(engine.get_function_address("run")), team()
    assert parallel, "these instructions are not here"
    fields = len([*pointers.split(), *numbers.split()])
    task = ctypes.c_int64 * fields

    def run(*given: Tensor | int, threads: int = 0, keep: object = engine) -> None:
        assert len(given) == fields
        values = task(*[each if isinstance(each, int) else each.data_ptr() for each in given])
        parallel(address, ctypes.addressof(values), threads or torch.get_num_threads(), 0)

    return run


def threads_for(rows: int) -> int:
    """One for few rows, all for more."""
    return 1 if rows <= FEW else torch.get_num_threads()
