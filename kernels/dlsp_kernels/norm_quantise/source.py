"""Writes the kernel of `add_norm_quantise` in LLVM IR, for given vector instructions."""

from math import gcd

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    FLOAT,
    LONG,
    Entry,
    Loop,
    at,
    float_at,
    floats,
    fma,
    intrinsic,
    load,
    spread,
    store,
    total,
)
from dlsp_kernels.quantise.source import greatest, quantise_row

POINTERS, NUMBERS = "x y y_scale q scale", "y_row"


def source(kind: Instructions, dim: int, eps: float, levels: int) -> str:
    """The kernel's LLVM IR. A work item is a row."""
    module, lanes = ir.Module(), gcd(dim, kind.lanes)
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (x, y, y_scale, q, scale, y_row) = entry.b, entry.given
    with entry.each() as row:
        start = b.mul(row, LONG(dim))
        mine, given = float_at(b, x, start), float_at(b, y, b.mul(row, y_row))
        step = spread(b, load(b, float_at(b, y_scale, row), FLOAT), lanes)
        loop = Loop(b, LONG(0), LONG(dim // lanes), [floats(lanes)(None)] * 2)
        here = b.mul(loop.index, LONG(lanes))
        old, more = (load(b, float_at(b, each, here), floats(lanes)) for each in (mine, given))
        value = fma(b, more, step, old)
        store(b, value, float_at(b, mine, here))
        squares = fma(b, value, value, loop.values[0])
        most = intrinsic(b, "maxnum", intrinsic(b, "fabs", value), loop.values[1])
        loop.close([squares, most])
        mean = b.fmul(total(b, squares), FLOAT(1 / dim))
        norm = b.fdiv(FLOAT(1), intrinsic(b, "sqrt", b.fadd(mean, FLOAT(eps))))
        most = greatest(b, b.fmul(spread(b, norm, lanes), most))
        store(b, b.fdiv(most, FLOAT(levels)), float_at(b, scale, row))
        factor = b.fdiv(b.fmul(norm, FLOAT(levels)), most)
        quantise_row(b, mine, at(b, q, start), dim, lanes, factor, levels)
    b.ret_void()
    return str(module)
