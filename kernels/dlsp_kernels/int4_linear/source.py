"""Writes the 4-bit matrix kernel in LLVM IR, for given vector instructions. It multiplies rows of x by a weight.

A weight [out, in] is packed as [out / block, in / GROUP, GROUP_BYTES * block]. The blocks are those of `int8_linear`.
For each group of 32 inputs, a block has in this order:

    | bytes      | content                                                                                   |
    | ---------- | ----------------------------------------------------------------------------------------- |
    | 16 * block | codes [4, block, 4]: byte j of output i in pair p holds the codes of inputs 8 p + j (low   |
    |            | 4 bits) and 8 p + 4 + j (high 4 bits)                                                     |
    | block      | each output's step                                                                        |
    | block      | each output's minimum                                                                     |

A code becomes an int8 weight in registers: code * step + minimum. One 16-bit multiplication does two codes, since
code * step is less than 256. What follows is `int8_linear`.

Rows are multiplied as the codes are expanded. If their sums for a block do not fit into the registers, those for half a
block may: then the rows pass twice, once for each half. Of still more rows, the first tile also stores the expanded
block in memory of the worker, in the layout of `int8_linear`; all other tiles read it there.
"""

from collections.abc import Sequence

from llvmlite import ir

from dlsp_kernels.int4_linear.reference import GROUP
from dlsp_kernels.int8_linear.source import (
    LINE,
    VECTORS,
    add_products,
    block,
    block_size,
    finish,
    fours_of,
    prefetch,
    rows_at_once,
    stretch,
)
from dlsp_kernels.program.instructions import Fours, Instructions
from dlsp_kernels.program.writing import (
    BYTE,
    INT,
    LONG,
    SHORT,
    Entry,
    Loop,
    at,
    cases,
    float_at,
    inner,
    ints,
    load,
    same,
    store,
    tiles,
)

# The number of fours of inputs in a group.
FOURS = GROUP // 4

# The bytes of a group for each output.
GROUP_BYTES = GROUP // 2 + 2

# How many bytes before they are read codes are prefetched. 2 kB ahead gained nothing.
AHEAD = 8192

# The number of vectors of outputs in half a block.
HALF = VECTORS // 2

# The kernel's arguments. x uint8 [rows, GROUP * groups]; out float32 [rows, outs]; weight packed as above; correction
# int32 and scale float32, one per output with padding; expanded int8 [workers, GROUP * groups * block], only used for
# more than `rows_by_codes` rows.
POINTERS, NUMBERS = "weight correction scale x out expanded", "groups outs rows"


def source(kind: Instructions) -> str:
    """The kernel's LLVM IR. A work item is a block of outputs."""
    module, most = ir.Module(), rows_at_once(kind)
    alone = [_rows(module, kind, rows, VECTORS if rows <= most else HALF) for rows in range(1, rows_by_codes(kind) + 1)]
    first = [_rows(module, kind, rows, VECTORS, stores=True) for rows in range(1, most + 1)]
    later = [block(module, kind, fours_at_once(kind), rows, LINE, LINE) for rows in range(1, most + 1)]
    _run(module, kind, alone, first, later)
    return str(module)


def fours_at_once(kind: Instructions) -> int:
    """The number of fours of a row of x that are loaded at once."""
    return kind.lanes if kind.fours == Fours.SIGNED else 1


def rows_by_codes(kind: Instructions) -> int:
    """The most rows that are multiplied by codes alone: their sums for half a block are kept in registers, as in
    `rows_at_once`.
    """
    return 5 * kind.registers // 6 // (HALF + (kind.fours == Fours.SIGNED))


def _rows(module: ir.Module, kind: Instructions, rows: int, at_once: int, stores: bool = False) -> ir.Function:
    """A function that multiplies `rows` rows of x by the codes of one block of outputs, `at_once` vectors of outputs in
    a pass. It `stores` the block's weights as packed in `int8_linear`, or ignores `expanded`. `left` is the number of
    real outputs from this block on.
    """
    name = f"stored_{rows}" if stores else f"codes_{rows}"
    b, (weight, correction, scale, x, out, expanded, groups, outs, left) = inner(module, name, 6, 3)
    for first in range(0, VECTORS, at_once):
        vectors = range(first, first + at_once)
        sums = _products(b, kind, rows, vectors, (weight, x, groups), expanded if stores else None)
        finish(b, kind, sums, vectors, (correction, scale, out, outs, left))
    b.ret_void()
    return b.function


def _products(
    b: ir.IRBuilder,
    kind: Instructions,
    rows: int,
    vectors: range,
    given: Sequence[ir.Value],
    expanded: ir.Value | None,
) -> Sequence[ir.Value]:
    """Emit: the products of `rows` rows of x and these `vectors` of a block, summed over the inputs; a vector per row
    and vector, row by row. `given`: weight, x, groups. Weights are stored at `expanded`, if given.
    """
    weight, x, groups = given
    lanes, size, of_x = kind.lanes, GROUP_BYTES * block_size(kind), fours_at_once(kind)
    starts = [at(b, x, b.mul(groups, LONG(GROUP * row))) for row in range(rows)]
    loop = Loop(b, LONG(0), groups, [ints(lanes)(None)] * (len(vectors) * rows))
    here = at(b, weight, b.mul(loop.index, LONG(size)))
    _prefetch(b, kind, vectors, weight, loop.index, groups)
    scales = _scales(b, kind, vectors, here)
    # Few fours at once: of all fours of a group, LLVM would keep far more vectors than there are registers.
    count = max(2, of_x)
    some = Loop(b, LONG(0), LONG(FOURS // count), loop.values)
    codes = at(b, here, b.mul(some.index, LONG(count // 2 * 4 * block_size(kind))))
    place = b.add(b.mul(loop.index, LONG(GROUP)), b.mul(some.index, LONG(4 * count)))
    sums, held = list(some.values), [x] * rows
    for number in range(count):
        weights = [_weights(b, kind, codes, number, *each) for each in zip(vectors, scales, strict=True)]
        if expanded:
            there = at(b, expanded, b.mul(place, LONG(block_size(kind))))
            for vector, each in zip(vectors, weights, strict=True):
                store(b, each, at(b, there, number * stretch(kind, 1) + 4 * lanes * vector))
        for row, start in enumerate(starts):
            if number % of_x == 0:
                held[row] = fours_of(b, kind, at(b, start, b.add(place, LONG(4 * number))), of_x)
            four = b.shuffle_vector(held[row], held[row], same(INT, number % of_x, lanes))
            for vector, each in enumerate(weights, len(weights) * row):
                sums[vector] = add_products(b, kind, sums[vector], four, each)
    some.close(sums)
    loop.close(sums)
    return sums


def _prefetch(
    b: ir.IRBuilder, kind: Instructions, vectors: range, weight: ir.Value, group: ir.Value, groups: ir.Value
) -> None:
    """Emit: prefetch what the pass for these `vectors` needs AHEAD bytes after the `group` with this number. Behind the
    last group, this is the beginning of the following pass: for the other half of this block, or of the next block.
    """
    size, half = GROUP_BYTES * block_size(kind), 4 * kind.lanes * len(vectors)
    ahead = b.add(group, LONG(AHEAD // size))
    if len(vectors) == VECTORS:
        prefetch(b, at(b, weight, b.mul(ahead, LONG(size))), size)
        return
    is_over, is_first = b.icmp_unsigned(">=", ahead, groups), vectors.start == 0
    again = b.select(is_over, groups if is_first else LONG(0), LONG(0))
    offset = b.select(is_over, LONG(half if is_first else 0), LONG(0 if is_first else half))
    there = at(b, weight, b.mul(b.sub(ahead, again), LONG(size)))
    for pair in range(FOURS // 2):
        codes = at(b, there, b.add(offset, LONG(pair * 4 * block_size(kind))))
        prefetch(b, codes, half)
        prefetch(b, at(b, codes, half - 1), 1)  # a further line, if the codes begin in the middle of one
    if is_first:
        prefetch(b, at(b, there, GROUP // 2 * block_size(kind)), 2 * block_size(kind))


# The steps of a vector of outputs, in 16 bits each, twice; and the minima, in 8 bits each, four times.
Scales = tuple[ir.Value, ir.Value]


def _scales(b: ir.IRBuilder, kind: Instructions, vectors: range, group: ir.Value) -> list[Scales]:
    """Emit: the scales of these vectors of outputs, for the group at this address."""
    found, outputs, lanes = [], block_size(kind), kind.lanes
    for vector in vectors:
        place = at(b, group, GROUP // 2 * outputs + lanes * vector)
        step = _repeated(b, load(b, place, ir.VectorType(BYTE, lanes)), [0, 1, 0, 1])
        minimum = _repeated(b, load(b, at(b, place, outputs), ir.VectorType(BYTE, lanes)), [0, 0, 0, 0])
        found.append((b.bitcast(step, ir.VectorType(SHORT, 2 * lanes)), minimum))
    return found


def _weights(
    b: ir.IRBuilder, kind: Instructions, codes: ir.Value, number: int, vector: int, scales: Scales
) -> ir.Value:
    """Emit: one vector of outputs' int8 weights for the four `number` of those at `codes`."""
    (step, minimum), twos = scales, ir.VectorType(SHORT, 2 * kind.lanes)
    both = load(b, at(b, codes, number // 2 * 4 * block_size(kind) + 4 * kind.lanes * vector), twos)
    shifted = b.lshr(both, same(SHORT, 4, 2 * kind.lanes)) if number % 2 else both
    products = b.mul(b.and_(shifted, same(SHORT, 0x0F0F, 2 * kind.lanes)), step)
    return b.bitcast(b.add(b.bitcast(products, minimum.type), minimum), ints(kind.lanes))


def _repeated(b: ir.IRBuilder, values: ir.Value, order: Sequence[int]) -> ir.Value:
    """Emit: a vector of 4 bytes for each of the byte `values`; 0 in `order` stands for the value, 1 for a zero byte."""
    lanes = values.type.count
    wide = b.bitcast(b.zext(values, ints(lanes)), ir.VectorType(BYTE, 4 * lanes))
    places = [4 * lane + place for lane in range(lanes) for place in order]
    return b.shuffle_vector(wide, wide, ints(4 * lanes)([INT(place) for place in places]))


def _run(
    module: ir.Module,
    kind: Instructions,
    alone: Sequence[ir.Function],
    first: Sequence[ir.Function],
    later: Sequence[ir.Function],
) -> None:
    """Write `run`: for each block, all rows (at least one). The functions are listed by their number of rows: those for
    all rows, if they can take so `alone`; else for the `first` tile of them, and for the `later` ones.
    """
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (weight, correction, scale, x, out, expanded, groups, outs, rows) = entry.b, entry.given
    ins, size = b.mul(groups, LONG(GROUP)), LONG(block_size(kind))
    block_bytes = b.mul(groups, LONG(GROUP_BYTES * block_size(kind)))
    mine = at(b, expanded, b.mul(entry.worker, b.mul(ins, size)))
    with entry.each() as item:
        output = b.mul(item, size)
        codes, less, factor = (
            at(b, weight, b.mul(item, block_bytes)),
            *(float_at(b, p, output) for p in (correction, scale)),
        )
        left, fours = b.sub(outs, output), b.mul(groups, LONG(FOURS))
        given = [codes, less, factor]
        with b.if_else(b.icmp_unsigned("<=", rows, LONG(len(alone)))) as (few, many):
            with few:
                cases(b, rows, alone, [*given, x, float_at(b, out, output), mine, groups, outs, left])
            with many, tiles(b, rows, len(later)) as tile:
                of_x = at(b, x, b.mul(tile.row, ins))
                of_out = float_at(b, out, b.add(b.mul(tile.row, outs), output))
                with b.if_else(b.icmp_unsigned("==", tile.number, LONG(0))) as (begins, goes_on):
                    with begins:
                        cases(b, tile.rows, first, [*given, of_x, of_out, mine, groups, outs, left])
                    with goes_on:
                        ahead = _ahead(b, kind, at(b, codes, block_bytes), mine, fours, b.sub(tile.number, LONG(1)))
                        cases(b, tile.rows, later, [mine, *given[1:], of_x, of_out, ahead, fours, outs, left])
    b.ret_void()


def _ahead(
    b: ir.IRBuilder, kind: Instructions, following: ir.Value, own: ir.Value, fours: ir.Value, tile: ir.Value
) -> ir.Value:
    """The address that a later tile of rows prefetches, a line at each of its loads of x: its share of the next block's
    codes. Tiles beyond those that it takes for all codes get the worker's `own` memory, which costs nothing.
    """
    of_load = fours_at_once(kind) * GROUP_BYTES * block_size(kind) // FOURS  # the bytes of codes for a load of x
    part = b.mul(tile, b.mul(b.udiv(fours, LONG(fours_at_once(kind))), LONG(LINE)))
    return b.select(b.icmp_unsigned("<", tile, LONG(of_load // LINE)), at(b, following, part), own)
