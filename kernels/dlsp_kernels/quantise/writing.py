"""How programs quantise a row."""

from llvmlite import ir

from dlsp_kernels.program.writing import (
    BYTE,
    FLOAT,
    INT,
    LONG,
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

LEAST = 1e-10
"""The greatest of a row counts as so much at least."""


def quantise_row(b: ir.IRBuilder, x: ir.Value, q: ir.Value, n: int, lanes: int, factor: ir.Value, levels: int) -> None:
    """q uint8 [n] = x [n] * factor, rounded to the nearest and half to even, levels + 1 for zero."""
    loop = Loop(b, LONG(0), LONG(n // lanes))
    here = b.mul(loop.index, LONG(lanes))
    scaled = b.fmul(load(b, float_at(b, x, here), floats(lanes)), spread(b, factor, lanes))
    whole = b.fptosi(intrinsic(b, "nearbyint", scaled), ints(lanes))
    stored = b.add(whole, same(INT, levels + 1, lanes))
    store(b, b.trunc(stored, ir.VectorType(BYTE, lanes)), at(b, q, here))
    loop.close()


def greatest(b: ir.IRBuilder, values: ir.Value) -> ir.Value:
    """Of a row's magnitudes, a vector of which is given."""
    return intrinsic(b, "maxnum", largest(b, values), FLOAT(LEAST))


def quantise_whole(
    b: ir.IRBuilder, x: ir.Value, q: ir.Value, scale: ir.Value, n: int, lanes: int, levels: int, factor: float = 1
) -> None:
    """The row's greatest first, from which its scale follows; x stands for `factor` times as much."""
    loop = Loop(b, LONG(0), LONG(n // lanes), [floats(lanes)(None)])
    value = load(b, float_at(b, x, b.mul(loop.index, LONG(lanes))), floats(lanes))
    most = intrinsic(b, "maxnum", intrinsic(b, "fabs", value), loop.values[0])
    loop.close([most])
    most = greatest(b, most)
    store(b, b.fdiv(most, FLOAT(levels / factor)), scale)
    quantise_row(b, x, q, n, lanes, b.fdiv(FLOAT(levels), most), levels)
