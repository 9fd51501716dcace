"""Writes the kernel of `swiglu_quantise` in LLVM IR, for given vector instructions."""

from collections.abc import Iterator
from math import gcd, log

from llvmlite import ir

from dlsp_kernels.hadamard.reference import group_size
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    FLOAT,
    LONG,
    Entry,
    Loop,
    at,
    float_at,
    floats,
    intrinsic,
    load,
    power_of_two,
    same,
    spread,
    store,
)
from dlsp_kernels.quantise.source import quantise_whole

POINTERS, NUMBERS = "y y_scale h q scale", "y_row"

# The number of vectors that are held in registers for three rounds of additions and subtractions, before they are
# stored.
RADIX = 8


def source(kind: Instructions, ff: int, levels: int) -> str:
    """The kernel's LLVM IR. A work item is a row."""
    module, lanes, size = ir.Module(), gcd(ff, kind.lanes), group_size(ff)
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (y, y_scale, h, q, scale, y_row) = entry.b, entry.given
    mine = float_at(b, h, b.mul(entry.worker, LONG(ff)))
    with entry.each() as row:
        given = float_at(b, y, b.mul(row, y_row))
        _swiglu(b, given, load(b, float_at(b, y_scale, row), FLOAT), mine, ff, lanes)
        for first, count, width in _runs(ff // size, kind.lanes):
            loop = Loop(b, LONG(0), LONG(count))
            _butterflies(b, float_at(b, mine, b.add(LONG(first), b.mul(loop.index, LONG(width)))), ff, size, width)
            loop.close()
        # The butterflies leave out the factor that makes the transform orthogonal; it only changes the scale.
        result = at(b, q, b.mul(row, LONG(ff)))
        quantise_whole(b, mine, result, float_at(b, scale, row), ff, lanes, levels, factor=size**-0.5)
    b.ret_void()
    return str(module)


def _swiglu(b: ir.IRBuilder, y: ir.Value, scale: ir.Value, h: ir.Value, ff: int, lanes: int) -> None:
    """Emit: h [ff] = silu(gate) * up, where y * scale is gate [ff], then up [ff]."""
    loop = Loop(b, LONG(0), LONG(ff // lanes))
    here = b.mul(loop.index, LONG(lanes))
    gate, up = (
        b.fmul(load(b, float_at(b, y, place), floats(lanes)), spread(b, scale, lanes))
        for place in (here, b.add(here, LONG(ff)))
    )
    power = b.fmul(gate, same(FLOAT, -1 / log(2), lanes))
    power = intrinsic(b, "maxnum", intrinsic(b, "minnum", power, same(FLOAT, 126.0, lanes)), same(FLOAT, -126.0, lanes))
    silu = b.fdiv(gate, b.fadd(same(FLOAT, 1.0, lanes), power_of_two(b, power)))
    store(b, b.fmul(silu, up), float_at(b, h, here))
    loop.close()


def _runs(length: int, lanes: int) -> Iterator[tuple[int, int, int]]:
    """Divide `length` neighbouring elements into vectors, the widest first: (first element, number of vectors, lanes)
    per width.
    """
    first = 0
    while lanes:
        if count := (length - first) // lanes:
            yield first, count, lanes
            first += count * lanes
        lanes //= 2


def _butterflies(b: ir.IRBuilder, h: ir.Value, n: int, size: int, width: int) -> None:
    """Emit `hadamard` without its factor, in place, for `width` neighbouring groups. Element i of a group is n / size *
    i floats from its first.
    """
    done = 1
    while done < size:
        radix = min(RADIX, size // done)
        loop = Loop(b, LONG(0), LONG(size // radix))
        # The elements whose indices differ only in one digit: the one that is worth `done`.
        high, low = b.udiv(loop.index, LONG(done)), b.urem(loop.index, LONG(done))
        first = b.add(b.mul(high, LONG(done * radix)), low)
        places = [float_at(b, h, b.mul(b.add(first, LONG(done * digit)), LONG(n // size))) for digit in range(radix)]
        values = [load(b, place, floats(width)) for place in places]
        half = 1
        while half < radix:
            pairs = [(digit, digit + half) for digit in range(radix) if not digit & half]
            for left, right in pairs:
                one, other = values[left], values[right]
                values[left], values[right] = b.fadd(one, other), b.fsub(one, other)
            half *= 2
        for value, place in zip(values, places, strict=True):
            store(b, value, place)
        loop.close()
        done *= radix
