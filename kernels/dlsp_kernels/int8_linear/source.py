"""Writes the int8 matrix kernel in LLVM IR, for given vector instructions. It multiplies rows of x by a weight.

A weight [out, in] is packed as [out / block, in / 4, block, 4], in this order in memory:

    | axis        | content                                                                     |
    | ----------- | --------------------------------------------------------------------------- |
    | out / block | blocks of `block_size` outputs; the last one is padded with zeros           |
    | in / 4      | fours: groups of 4 consecutive inputs                                       |
    | block       | the outputs of a block                                                      |
    | 4           | one output's int8 weights for a four of inputs: one 32-bit lane of a vector |

Each lane of a vector multiplies 4 weights by a four of inputs of a row of x, and adds the products to a 32-bit sum. So
the kernel reads a block sequentially, and keeps the block's sums in registers.

Where the instruction needs two signed factors (`Fours.SIGNED`), x is read as x - 128. There a vector is loaded with
several fours of x, and each product takes its four from one of the lanes.
"""

from collections.abc import Sequence
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
"""The number of vectors that hold a row's sums for one block of outputs."""

SIGNS = -0x7F7F7F80
"""The highest bit of each of four bytes. XOR with it turns an unsigned byte x into the signed x - 128."""

LINE, PASSES = 64, 2
"""The bytes of a cache line; and the number of tiles of rows among which the prefetch of the next block is divided."""

POINTERS, NUMBERS = "weight correction scale x out", "fours outs rows"
"""The kernel's arguments. x uint8 [rows, 4 * fours]; out float32 [rows, outs]; weight packed as above; correction int32
and scale float32, one per output with padding.
"""


def block_size(kind: Instructions) -> int:
    """The number of outputs in a block."""
    return VECTORS * kind.lanes


def rows_at_once(kind: Instructions) -> int:
    """The number of rows whose sums are kept in registers. These, and for `SIGNED` one vector of fours per row, take at
    most five sixths of the registers.
    """
    of_row = VECTORS + (kind.fours == Fours.SIGNED)
    return 5 * kind.registers // 6 // of_row


def fours_at_once(kind: Instructions, fours: int) -> int:
    """The number of fours that the kernel loads at once, for rows of x that have this many `fours`."""
    return gcd(fours, kind.lanes) if kind.fours == Fours.SIGNED else 1


def stretch(kind: Instructions, at_once: int) -> int:
    """The bytes of a block that are multiplied by this many fours of a row."""
    return at_once * 4 * block_size(kind)


def source(kind: Instructions, at_once: int) -> str:
    """The kernel's LLVM IR. A work item is a block of outputs."""
    module = ir.Module()
    size = stretch(kind, at_once)
    of_rows = [block(module, kind, at_once, rows, size, size // PASSES) for rows in range(1, rows_at_once(kind) + 1)]
    _run(module, kind, at_once, of_rows)
    return str(module)


def block(module: ir.Module, kind: Instructions, at_once: int, rows: int, every: int, prefetched: int) -> ir.Function:
    """A function that multiplies `rows` rows of x by one block of outputs.

    `left` is the number of real outputs from this block on; the padding beyond is not stored. Meanwhile the function
    prefetches memory: for each `at_once` fours, the first `prefetched` of the next `every` bytes from `ahead` on.
    """
    b, (weight, correction, scale, x, out, ahead, fours, outs, left) = inner(module, f"rows_{rows}", 6, 3)
    lanes, size = kind.lanes, 4 * kind.lanes

    starts = [at(b, x, b.mul(fours, LONG(4 * row))) for row in range(rows)]
    loop = Loop(b, LONG(0), b.udiv(fours, LONG(at_once)), [ints(lanes)(None)] * (VECTORS * rows))
    here = at(b, weight, b.mul(loop.index, LONG(stretch(kind, at_once))))
    prefetch(b, at(b, ahead, b.mul(loop.index, LONG(every))), prefetched)
    place, sums, held = b.mul(loop.index, LONG(4 * at_once)), loop.values, []
    for number in range(at_once):
        of_four = at(b, here, number * VECTORS * size)
        weights = [load(b, at(b, of_four, size * vector), ints(lanes)) for vector in range(VECTORS)]
        before, sums = sums, []
        for row, start in enumerate(starts):
            if number == 0:
                held.append(fours_of(b, kind, at(b, start, place), at_once))
            four = b.shuffle_vector(held[row], held[row], same(INT, number, lanes))
            mine = before[VECTORS * row :]
            sums += [add_products(b, kind, mine[vector], four, weights[vector]) for vector in range(VECTORS)]
    loop.close(sums)
    finish(b, kind, sums, range(VECTORS), (correction, scale, out, outs, left))
    b.ret_void()
    return b.function


def prefetch(b: ir.IRBuilder, pointer: ir.Value, size: int) -> None:
    """Emit: prefetch `size` bytes into the second cache."""
    fetch = function(b.module, "llvm.prefetch.p0", NOTHING, [POINTER, INT, INT, INT])
    for byte in range(0, size, LINE):
        b.call(fetch, [at(b, pointer, byte), INT(0), INT(2), INT(1)])  # for reading, into L2, data cache


def finish(
    b: ir.IRBuilder, kind: Instructions, sums: Sequence[ir.Value], vectors: range, given: Sequence[ir.Value]
) -> None:
    """Emit: store the results of rows that were multiplied by these `vectors` of a block. `sums` holds one vector per
    row and vector, row by row. `given`: correction, scale, out, outs, left.
    """
    correction, scale, out, outs, left = given
    lanes = kind.lanes
    for number, vector in enumerate(vectors):
        first = lanes * vector
        mask = real(b, left, lanes, first)
        less = load(b, float_at(b, correction, first), ints(lanes))
        factor = load(b, float_at(b, scale, first), floats(lanes))
        for row, its in enumerate(sums[number :: len(vectors)]):
            y = b.fmul(b.sitofp(b.sub(its, less), floats(lanes)), factor)
            place = float_at(b, out, b.add(b.mul(outs, LONG(row)), LONG(first)))
            masked_store(b, y, place, mask)


def fours_of(b: ir.IRBuilder, kind: Instructions, x: ir.Value, count: int) -> ir.Value:
    """Load `count` fours of a row of x: as x - 128 if the instruction needs signed factors."""
    held = load(b, x, ints(count))
    return b.xor(held, same(INT, SIGNS, count)) if kind.fours == Fours.SIGNED else held


def add_products(b: ir.IRBuilder, kind: Instructions, sums: ir.Value, x: ir.Value, weights: ir.Value) -> ir.Value:
    """sums + x * weights, summed over the 4 bytes of each lane. Weights are signed, x is as `fours_of` returns it."""
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
    """Write `run`: for each block, all rows (at least one), in tiles of `rows_at_once`.

    If there are several tiles, computing a block takes longer than reading it, so the next block is prefetched
    meanwhile.
    """
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (weight, correction, scale, x, out, fours, outs, rows) = entry.b, entry.given
    with entry.each() as item:
        output = b.mul(item, LONG(block_size(kind)))
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
    """The address that a tile of rows prefetches: its part of each stretch of `size` bytes of the next block. A tile
    that is alone gets its own block, which costs nothing.
    """
    part = b.mul(b.urem(tile.number, LONG(PASSES)), LONG(size // PASSES))
    return b.select(b.icmp_unsigned("<", LONG(1), tile.count), at(b, weight, b.add(block_bytes, part)), weight)
