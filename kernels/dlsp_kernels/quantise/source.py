"""The program of `quantise_rows`, written for a processor's instructions."""

from math import gcd

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import FLOAT, LONG, Entry, Loop, at, float_at, floats, intrinsic, load, store
from dlsp_kernels.quantise.writing import greatest, quantise_row

POINTERS, NUMBERS = "x q scale", "rows"


def source(kind: Instructions, dim: int, levels: int) -> str:
    module, lanes = ir.Module(), gcd(dim, kind.lanes)
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (x, q, scale, rows) = entry.b, entry.given
    with entry.each(rows) as row:
        start = b.mul(row, LONG(dim))
        mine = float_at(b, x, start)
        loop = Loop(b, LONG(0), LONG(dim // lanes), [floats(lanes)(None)])
        value = load(b, float_at(b, mine, b.mul(loop.index, LONG(lanes))), floats(lanes))
        most = intrinsic(b, "maxnum", intrinsic(b, "fabs", value), loop.values[0])
        loop.close([most])
        most = greatest(b, most)
        store(b, b.fdiv(most, FLOAT(levels)), float_at(b, scale, row))
        quantise_row(b, mine, at(b, q, start), dim, lanes, b.fdiv(FLOAT(levels), most), levels)
    b.ret_void()
    return str(module)
