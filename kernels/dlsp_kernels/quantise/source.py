"""Writes the kernel of `quantise_rows` in LLVM IR, for given vector instructions. Other kernels use its parts."""

from math import gcd

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    BYTE,
    FLOAT,
    INT,
    LONG,
    Entry,
    Loop,
    at,
    float_at,
    floats,
    intrinsic,
    ints,
    largest,
    load,
    same,
    spread,
    store,
)

# A row's largest magnitude counts as at least this, so that its scale is not 0.
LEAST = 1e-10


def quantise_row(b: ir.IRBuilder, x: ir.Value, q: ir.Value, n: int, lanes: int, factor: ir.Value, levels: int) -> None:
    """Emit: q uint8 [n] = x [n] * factor, rounded to the nearest (half to even), plus the zero point levels + 1."""
    loop = Loop(b, LONG(0), LONG(n // lanes))
    here = b.mul(loop.index, LONG(lanes))
    scaled = b.fmul(load(b, float_at(b, x, here), floats(lanes)), spread(b, factor, lanes))
    whole = b.fptosi(intrinsic(b, "nearbyint", scaled), ints(lanes))
    stored = b.add(whole, same(INT, levels + 1, lanes))
    store(b, b.trunc(stored, ir.VectorType(BYTE, lanes)), at(b, q, here))
    loop.close()


def greatest(b: ir.IRBuilder, values: ir.Value) -> ir.Value:
    """Emit: a row's largest magnitude, but at least LEAST, from a vector of the largest magnitudes in each lane."""
    return intrinsic(b, "maxnum", largest(b, values), FLOAT(LEAST))


def quantise_whole(
    b: ir.IRBuilder, x: ir.Value, q: ir.Value, scale: ir.Value, n: int, lanes: int, levels: int, factor: float = 1
) -> None:
    """Emit: find the largest magnitude of x [n], store the scale that follows from it, and quantise. The values to
    quantise are x * factor.
    """
    loop = Loop(b, LONG(0), LONG(n // lanes), [floats(lanes)(None)])
    value = load(b, float_at(b, x, b.mul(loop.index, LONG(lanes))), floats(lanes))
    most = intrinsic(b, "maxnum", intrinsic(b, "fabs", value), loop.values[0])
    loop.close([most])
    most = greatest(b, most)
    store(b, b.fdiv(most, FLOAT(levels / factor)), scale)
    quantise_row(b, x, q, n, lanes, b.fdiv(FLOAT(levels), most), levels)


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
