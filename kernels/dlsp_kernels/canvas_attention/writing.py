"""Emits LLVM IR that writes and reads a cache of integers: `KvFormat.store` and `load`, to the bit."""

from collections.abc import Callable
from functools import partial, reduce

from llvmlite import ir

from dlsp_kernels.kv_format import SMALLEST_SCALE, KvFormat
from dlsp_kernels.program.writing import (
    BYTE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    Loop,
    at,
    float_at,
    floats,
    inner,
    intrinsic,
    ints,
    largest,
    load,
    same,
    spread,
    store,
)


def quantise(
    b: ir.IRBuilder, kv: KvFormat, lanes: int, vectors: list[ir.Value], codes: ir.Value, scale: ir.Value
) -> None:
    """Emit `KvFormat.store` for one row of a head, which `vectors` hold."""
    whole = ints(lanes)
    highest = largest(b, reduce(partial(intrinsic, b, "maxnum"), [intrinsic(b, "fabs", one) for one in vectors]))
    exact = b.bitcast(b.fdiv(highest, FLOAT(kv.levels)), INT)
    rounded = b.and_(b.add(exact, INT(0xFFFF)), INT(-0x10000))
    store(b, b.trunc(b.lshr(rounded, INT(16)), SHORT), scale)
    by = b.bitcast(rounded, FLOAT)
    by = b.select(b.fcmp_ordered("<", by, FLOAT(SMALLEST_SCALE)), FLOAT(0.0), b.fdiv(FLOAT(1), by))
    by = spread(b, by, lanes)
    numbers = [b.fptosi(intrinsic(b, "nearbyint", b.fmul(one, by)), whole) for one in vectors]
    if kv.bits == 4:
        half = len(numbers) // 2
        lower = [b.and_(one, same(INT, 15, lanes)) for one in numbers[:half]]
        upper = [b.shl(one, same(INT, 4, lanes)) for one in numbers[half:]]
        numbers = [b.or_(low, high) for low, high in zip(lower, upper, strict=True)]
    for number, one in enumerate(numbers):
        store(b, b.trunc(one, ir.VectorType(BYTE, lanes)), at(b, codes, number * lanes))


def unpacking(module: ir.Module, kv: KvFormat, lanes: int, d: int, place_of: Callable[..., ir.Value]) -> ir.Function:
    """A function that writes the integers of `count` keys or values, from number `begin` on, as floats, and their
    scales as floats. `place_of` is `Writer._place`.
    """
    b, given = inner(module, "unpack", 4, 4)
    codes, scales, out, out_scales, visible, away, begin, count = given
    row_bytes = d * kv.bits // 8
    loop = Loop(b, LONG(0), count)
    place = place_of(b, b.add(begin, loop.index), visible, away)
    own = at(b, codes, b.mul(place, LONG(row_bytes)))
    bytes_at = [at(b, own, first) for first in range(0, row_bytes, lanes)]
    numbers = [b.sext(load(b, one, ir.VectorType(BYTE, lanes)), ints(lanes)) for one in bytes_at]
    if kv.bits == 4:
        high = [b.ashr(one, same(INT, 4, lanes)) for one in numbers]
        up = same(INT, 28, lanes)
        numbers = [*(b.ashr(b.shl(one, up), up) for one in numbers), *high]
    found = [b.sitofp(one, floats(lanes)) for one in numbers]
    row = float_at(b, out, b.mul(loop.index, LONG(d)))
    for number, one in enumerate(found):
        store(b, one, float_at(b, row, number * lanes))
    scale = b.shl(b.zext(load(b, at(b, scales, b.mul(place, LONG(2))), SHORT), INT), INT(16))
    store(b, scale, float_at(b, out_scales, loop.index))
    loop.close()
    b.ret_void()
    return b.function
