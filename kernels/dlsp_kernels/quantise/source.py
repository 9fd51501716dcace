"""Writes the kernel of `quantise_rows` in LLVM IR, for given vector instructions."""

from math import gcd

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import LONG, Entry, at, float_at
from dlsp_kernels.quantise.writing import quantise_whole

POINTERS, NUMBERS = "x q scale", ""


def source(kind: Instructions, dim: int, levels: int) -> str:
    """The kernel's LLVM IR. A work item is a row."""
    module, lanes = ir.Module(), gcd(dim, kind.lanes)
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (x, q, scale) = entry.b, entry.given
    with entry.each() as row:
        start = b.mul(row, LONG(dim))
        quantise_whole(b, float_at(b, x, start), at(b, q, start), float_at(b, scale, row), dim, lanes, levels)
    b.ret_void()
    return str(module)
