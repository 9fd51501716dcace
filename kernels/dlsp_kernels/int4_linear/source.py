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

Rows are multiplied as the codes are expanded. If there are more rows than fit into the registers, the first tile of
rows also stores the expanded block in memory of the worker, in the layout of `int8_linear`; all other tiles read it
there.
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

# The kernel's arguments. x uint8 [rows, GROUP * groups]; out float32 [rows, outs]; weight packed as above; correction
# int32 and scale float32, one per output with padding; expanded int8 [workers, GROUP * groups * block], only used for
# more than `rows_at_once` rows.
POINTERS, NUMBERS = "weight correction scale x out expanded", "groups outs rows"


def source(kind: Instructions) -> str:
    """The kernel's LLVM IR. A work item is a block of outputs."""
    module, most = ir.Module(), rows_at_once(kind)
    alone, first = ([_rows(module, kind, rows, stores) for rows in range(1, most + 1)] for stores in (False, True))
    later = [block(module, kind, fours_at_once(kind), rows, LINE, LINE) for rows in range(1, most + 1)]
    _run(module, kind, alone, first, later)
    return str(module)


def fours_at_once(kind: Instructions) -> int:
    """The number of fours of a row of x that are loaded at once."""
    return kind.lanes if kind.fours == Fours.SIGNED else 1


def _rows(module: ir.Module, kind: Instructions, rows: int, stores: bool) -> ir.Function:
    """A function that multiplies `rows` rows of x by the codes of one block of outputs, and `stores` the block's
    weights as packed in `int8_linear`, or ignores `expanded`. `left` is the number of real outputs from this block on.
    """
    name = f"stored_{rows}" if stores else f"codes_{rows}"
    b, (weight, correction, scale, x, out, expanded, groups, outs, left) = inner(module, name, 6, 3)
    lanes, size, at_once = kind.lanes, GROUP_BYTES * block_size(kind), fours_at_once(kind)
    starts = [at(b, x, b.mul(groups, LONG(GROUP * row))) for row in range(rows)]
    loop = Loop(b, LONG(0), groups, [ints(lanes)(None)] * (VECTORS * rows))
    here = at(b, weight, b.mul(loop.index, LONG(size)))
    prefetch(b, at(b, here, AHEAD), size)
    scales = _scales(b, kind, here)
    # Few fours at once: of all fours of a group, LLVM would keep far more vectors than there are registers.
    count = max(2, at_once)
    some = Loop(b, LONG(0), LONG(FOURS // count), loop.values)
    codes = at(b, here, b.mul(some.index, LONG(count // 2 * 4 * block_size(kind))))
    place = b.add(b.mul(loop.index, LONG(GROUP)), b.mul(some.index, LONG(4 * count)))
    there = at(b, expanded, b.mul(place, LONG(block_size(kind))))
    sums, held = list(some.values), [x] * rows
    for number in range(count):
        weights = [_weights(b, kind, codes, number, vector, scales[vector]) for vector in range(VECTORS)]
        for vector in range(VECTORS if stores else 0):
            store(b, weights[vector], at(b, there, number * stretch(kind, 1) + 4 * lanes * vector))
        for row, start in enumerate(starts):
            if number % at_once == 0:
                held[row] = fours_of(b, kind, at(b, start, b.add(place, LONG(4 * number))), at_once)
            four = b.shuffle_vector(held[row], held[row], same(INT, number % at_once, lanes))
            for vector in range(VECTORS):
                mine = VECTORS * row + vector
                sums[mine] = add_products(b, kind, sums[mine], four, weights[vector])
    some.close(sums)
    loop.close(sums)
    finish(b, kind, sums, (correction, scale, out, outs, left))
    return b.function


# The steps of a vector of outputs, in 16 bits each, twice; and the minima, in 8 bits each, four times.
Scales = tuple[ir.Value, ir.Value]


def _scales(b: ir.IRBuilder, kind: Instructions, group: ir.Value) -> list[Scales]:
    """Emit: the scales of each vector of outputs, for the group at this address."""
    found, outputs, lanes = [], block_size(kind), kind.lanes
    for vector in range(VECTORS):
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
    """Write `run`: for each block, all rows (at least one), in tiles of `rows_at_once`. The functions are listed by
    their number of rows: those for a tile that is `alone`, for the `first` of several, and for the `later` ones.
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
        with tiles(b, rows, len(later)) as tile:
            of_x = at(b, x, b.mul(tile.row, ins))
            of_out = float_at(b, out, b.add(b.mul(tile.row, outs), output))
            by_codes = [codes, less, factor, of_x, of_out, mine, groups, outs, left]
            with b.if_else(b.icmp_unsigned("==", tile.number, LONG(0))) as (begins, goes_on):
                with begins, b.if_else(b.icmp_unsigned("==", tile.count, LONG(1))) as (lone, several):
                    with lone:
                        cases(b, tile.rows, alone, by_codes)
                    with several:
                        cases(b, tile.rows, first, by_codes)
                with goes_on:
                    ahead = _ahead(b, kind, at(b, codes, block_bytes), mine, fours, b.sub(tile.number, LONG(1)))
                    cases(b, tile.rows, later, [mine, less, factor, of_x, of_out, ahead, fours, outs, left])
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
