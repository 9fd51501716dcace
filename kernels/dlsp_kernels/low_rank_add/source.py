"""Writes the kernel of `low_rank_add` in LLVM IR, for given vector instructions.

The outputs are cut into blocks, none of which spans two parts of a fused projection. The int8 weights of a block are
converted to float32 once for several rows, whose sums stay in registers.
"""

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    BYTE,
    FLOAT,
    LONG,
    Entry,
    Loop,
    at,
    cases,
    float_at,
    floats,
    fma,
    inner,
    ints,
    load,
    masked_load,
    masked_store,
    real,
    spread,
    tiles,
)

# The number of vectors in a block of outputs.
VECTORS = 4

# The kernel's arguments. y float32 [any rows, width]; b int8 [blocks, rank, block]; scale float32 [blocks, block];
# blocks int64 [blocks, 3]: first output, number of real outputs, column where the update's first half begins; rows
# int64 [row_count]: the rows to update.
POINTERS, NUMBERS = "y b scale blocks rows", "width rank row_count"


def block_size(kind: Instructions) -> int:
    """The number of outputs in a block."""
    return VECTORS * kind.lanes


def source(kind: Instructions) -> str:
    """The kernel's LLVM IR. A work item is a block of outputs."""
    module = ir.Module()
    # Apart from the sums, registers hold a block's weights and one factor.
    at_once = (kind.registers - VECTORS - 1) // VECTORS
    _run(module, kind, [_block(module, kind, rows) for rows in range(1, at_once + 1)])
    return str(module)


def _block(module: ir.Module, kind: Instructions, rows: int) -> ir.Function:
    """A function that adds the update to `rows` rows of y, for one block of outputs. These begin at `first`; `left` of
    them are real, the others are padding.
    """
    b, (y, weight, scale, numbers, width, rank, first, left, given) = inner(module, f"rows_{rows}", 4, 5)
    lanes, size = kind.lanes, block_size(kind)

    starts = [float_at(b, y, b.mul(load(b, at(b, numbers, 8 * row), LONG), width)) for row in range(rows)]
    halves = [float_at(b, start, given) for start in starts]
    loop = Loop(b, LONG(0), rank, [floats(lanes)(None)] * (VECTORS * rows))
    here = at(b, weight, b.mul(loop.index, LONG(size)))
    narrow = [load(b, at(b, here, lanes * vector), ir.VectorType(BYTE, lanes)) for vector in range(VECTORS)]
    weights = [b.sitofp(b.sext(each, ints(lanes)), floats(lanes)) for each in narrow]
    sums = []
    for row, half in enumerate(halves):
        factor = spread(b, load(b, float_at(b, half, loop.index), FLOAT), lanes)
        before = loop.values[VECTORS * row :]
        sums += [fma(b, factor, weights[vector], before[vector]) for vector in range(VECTORS)]
    loop.close(sums)

    for vector in range(VECTORS):
        mine = real(b, left, lanes, lanes * vector)
        step = load(b, float_at(b, scale, lanes * vector), floats(lanes))
        for row, start in enumerate(starts):
            place = float_at(b, start, b.add(first, LONG(lanes * vector)))
            new = fma(b, sums[VECTORS * row + vector], step, masked_load(b, place, mine))
            masked_store(b, new, place, mine)
    b.ret_void()
    return b.function


def _run(module: ir.Module, kind: Instructions, of_rows: list[ir.Function]) -> None:
    """Write `run`: for each block, all rows (at least one), in tiles whose sums fit in the registers."""
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (y, weight, scale, blocks, rows, width, rank, row_count) = entry.b, entry.given
    size = LONG(block_size(kind))
    with entry.each() as block:
        of_block = [at(b, weight, b.mul(block, b.mul(rank, size))), float_at(b, scale, b.mul(block, size))]
        about = at(b, blocks, b.mul(block, LONG(3 * 8)))
        place = [load(b, at(b, about, 8 * number), LONG) for number in range(3)]
        with tiles(b, row_count, len(of_rows)) as tile:
            numbers = at(b, rows, b.mul(tile.row, LONG(8)))
            cases(b, tile.rows, of_rows, [y, *of_block, numbers, width, rank, *place])
    b.ret_void()
