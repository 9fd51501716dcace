"""The program that multiplies rows of x by an int8 weight, written for a processor's instructions.

A weight [out, in] lies as [out / block, in / 4, block, 4]: of a block of outputs, the same 4 inputs lie together. A
vector's lane multiplies four such weights by four inputs of a row of x and adds the products to a sum. So a block is
read from one end to the other, and what comes of it stays in registers.

Where both factors must have signs, x is read as a distance from 128, many fours at once: a product takes its four out
of a lane.
"""

from math import gcd

from llvmlite import ir

from dlsp_kernels.program.instructions import Fours, Instructions
from dlsp_kernels.program.writing import (
    BYTE,
    INT,
    LONG,
    NOTHING,
    POINTER,
    SHORT,
    Entry,
    Loop,
    Tile,
    at,
    cases,
    float_at,
    floats,
    function,
    inner,
    ints,
    load,
    masked_store,
    real,
    same,
    tiles,
)

VECTORS = 4
"""Vectors of sums that a row and a block of outputs make."""

SIGNS = -0x7F7F7F80
"""The highest bit of each of four bytes: turned over, it makes x - 128, with a sign, of x without one."""

LINE, PASSES = 64, 2
"""Bytes that memory gives at once, and how many times rows pass a block before all of the next has been asked for."""

POINTERS, NUMBERS = "weight correction scale x out", "fours outs rows"
"""A task: x is [rows, 4 * fours], out [rows, outs]."""


def block_size(kind: Instructions) -> int:
    return VECTORS * kind.lanes


def rows_at_once(kind: Instructions) -> int:
    """Their sums take up to five sixths of the registers, with a vector of each row's fours where these are held."""
    of_row = VECTORS + (kind.fours == Fours.SIGNED)
    return 5 * kind.registers // 6 // of_row


def fours_at_once(kind: Instructions, fours: int) -> int:
    """Of a row of x with so many fours, which a program can be written for."""
    return gcd(fours, kind.lanes) if kind.fours == Fours.SIGNED else 1


def stretch(kind: Instructions, at_once: int) -> int:
    """Bytes of a block that so many fours are multiplied by."""
    return at_once * 4 * block_size(kind)


def source(kind: Instructions, at_once: int) -> str:
    module = ir.Module()
    of_rows = [_block(module, kind, at_once, rows) for rows in range(1, rows_at_once(kind) + 1)]
    _run(module, kind, at_once, of_rows)
    return str(module)


def _block(module: ir.Module, kind: Instructions, at_once: int, rows: int) -> ir.Function:
    """`rows` rows of x times a block of outputs, of which, with those behind, `left` are real. Meanwhile it asks for
    what stands at `ahead`.
    """
    b, (weight, correction, scale, x, out, ahead, fours, outs, left) = inner(module, f"rows_{rows}", 6, 3)
    lanes, size = kind.lanes, 4 * kind.lanes

    starts = [at(b, x, b.mul(fours, LONG(4 * row))) for row in range(rows)]
    loop = Loop(b, LONG(0), b.udiv(fours, LONG(at_once)), [ints(lanes)(None)] * (VECTORS * rows))
    here, soon = (at(b, each, b.mul(loop.index, LONG(stretch(kind, at_once)))) for each in (weight, ahead))
    prefetch = function(module, "llvm.prefetch.p0", NOTHING, [POINTER, INT, INT, INT])
    for byte in range(0, stretch(kind, at_once) // PASSES, LINE):
        b.call(prefetch, [at(b, soon, byte), INT(0), INT(2), INT(1)])  # to read, into the second cache, data
    place, sums, held = b.mul(loop.index, LONG(4 * at_once)), loop.values, []
    for number in range(at_once):
        of_four = at(b, here, number * VECTORS * size)
        weights = [load(b, at(b, of_four, size * vector), ints(lanes)) for vector in range(VECTORS)]
        before, sums = sums, []
        for row, start in enumerate(starts):
            if number == 0:
                held.append(_fours(b, kind, at(b, start, place), at_once))
            four = b.shuffle_vector(held[row], held[row], same(INT, number, lanes))
            mine = before[VECTORS * row :]
            sums += [_add_products(b, kind, mine[vector], four, weights[vector]) for vector in range(VECTORS)]
    loop.close(sums)

    for vector in range(VECTORS):
        first = lanes * vector
        mask = real(b, left, lanes, first)
        less = load(b, float_at(b, correction, first), ints(lanes))
        factor = load(b, float_at(b, scale, first), floats(lanes))
        for row in range(rows):
            y = b.fmul(b.sitofp(b.sub(sums[VECTORS * row + vector], less), floats(lanes)), factor)
            place = float_at(b, out, b.add(b.mul(outs, LONG(row)), LONG(first)))
            masked_store(b, y, place, mask)
    b.ret_void()
    return b.function


def _fours(b: ir.IRBuilder, kind: Instructions, x: ir.Value, count: int) -> ir.Value:
    """So many fours of a row, with signs where they must have them."""
    held = load(b, x, ints(count))
    return b.xor(held, same(INT, SIGNS, count)) if kind.fours == Fours.SIGNED else held


def _add_products(b: ir.IRBuilder, kind: Instructions, sums: ir.Value, x: ir.Value, weights: ir.Value) -> ir.Value:
    """sums + x * weights, fours of bytes in each lane: weights with a sign, x as it must be."""
    fours, bits = ints(kind.lanes), 32 * kind.lanes
    ones, twos = ir.VectorType(BYTE, 4 * kind.lanes), ir.VectorType(SHORT, 2 * kind.lanes)
    if kind.fours == Fours.VNNI:
        return b.call(function(b.module, f"llvm.x86.avx512.vpdpbusd.{bits}", fours, [fours] * 3), [sums, x, weights])
    if kind.fours == Fours.SIGNED:
        dot = function(
            b.module, f"llvm.aarch64.neon.sdot.v{kind.lanes}i32.v{4 * kind.lanes}i8", fours, [fours, ones, ones]
        )
        return b.call(dot, [sums, b.bitcast(weights, ones), b.bitcast(x, ones)])
    by_twos = function(b.module, "llvm.x86.avx2.pmadd.ub.sw", twos, [ones] * 2)
    by_fours = function(b.module, "llvm.x86.avx2.pmadd.wd", fours, [twos] * 2)
    products = b.call(by_twos, [b.bitcast(x, ones), b.bitcast(weights, ones)])
    return b.add(sums, b.call(by_fours, [products, same(SHORT, 1, 2 * kind.lanes)]))


def _run(module: ir.Module, kind: Instructions, at_once: int, of_rows: list[ir.Function]) -> None:
    """One block after the other, all of at least one rows of each. Where these are too many for the registers, so that
    it computes longer than it reads, it asks for the next block meanwhile.
    """
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (weight, correction, scale, x, out, fours, outs, rows) = entry.b, entry.given
    with entry.each() as block:
        output = b.mul(block, LONG(block_size(kind)))
        of_block = [at(b, weight, b.mul(b.mul(output, fours), LONG(4)))]
        of_block += [float_at(b, each, output) for each in (correction, scale)]
        with tiles(b, rows, len(of_rows)) as tile:
            of_tile = [
                at(b, x, b.mul(b.mul(tile.row, fours), LONG(4))),
                float_at(b, out, b.add(b.mul(tile.row, outs), output)),
                _ahead(b, of_block[0], b.mul(fours, LONG(stretch(kind, 1))), tile, stretch(kind, at_once)),
            ]
            cases(b, tile.rows, of_rows, [*of_block, *of_tile, fours, outs, b.sub(outs, output)])
    b.ret_void()


def _ahead(b: ir.IRBuilder, weight: ir.Value, block_bytes: ir.Value, tile: Tile, size: int) -> ir.Value:
    """What a tile of rows asks for: a part of each stretch of so many bytes of the next block, or of its own, which
    costs nothing, if it is alone.
    """
    part = b.mul(b.urem(tile.number, LONG(PASSES)), LONG(size // PASSES))
    return b.select(b.icmp_unsigned("<", LONG(1), tile.count), at(b, weight, b.add(block_bytes, part)), weight)
