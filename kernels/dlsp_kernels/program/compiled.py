"""Compiles a kernel from LLVM IR, when it is first needed, and makes it callable."""

import ctypes
from collections.abc import Callable

from torch import Tensor

from dlsp_kernels.program.capture import capturing
from dlsp_kernels.program.crew import crew
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.machine_code import machine_code

Program = Callable[..., None]


def compiled(source: str, pointers: str, numbers: str, kind: Instructions) -> Program:
    """The function `run` of this LLVM IR as a callable; `kind` must be available on this machine (`kind.here()`).

    It takes a tensor for each name in `pointers`, then an integer for each name in `numbers`. It processes the work
    items 0 … items - 1 on all threads, or on the caller's thread alone if there are at most `alone` items. If the IR
    has a function `before`, the caller's thread first runs that for all items.
    """
    engine, shared = machine_code(source, kind.features), crew()
    assert shared, "these instructions are not here"
    address, work, first = engine.get_function_address("run"), shared.work, engine.get_function_address("before")
    before = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(first) if first else None
    fields = len([*pointers.split(), *numbers.split()])
    task = ctypes.c_int64 * fields

    # `keep` holds the engine, which owns the machine code of `run`.
    def run(*given: Tensor | int, items: int, alone: int = 0, keep: object = engine) -> None:  # noqa: ARG001
        assert len(given) == fields
        values = task(*[each if isinstance(each, int) else each.data_ptr() for each in given])
        at = ctypes.addressof(values)
        if before and items:
            before(at, 0, items, 0)
        work(address, at, items, alone)
        if capture := capturing():
            if before:
                capture.add(first, values, items, items, given)
            capture.add(address, values, items, alone, given)

    return run
