"""The program that adds low-rank updates to rows of a result, written for a processor's instructions.

The outputs are cut into blocks, none of which belongs to two parts of a fused projection. A block's weights are widened
once for several rows, whose sums stay in registers.
"""

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    BIT,
    BYTE,
    FLOAT,
    INT,
    LONG,
    NOTHING,
    POINTER,
    Loop,
    at,
    cases,
    entry,
    function,
    intrinsic,
    load,
    share,
    spread,
)

VECTORS = 4
"""Of a block of outputs."""

POINTERS, NUMBERS = "y b scale blocks rows", "width rank block_count row_count"
"""A task: y [any rows, width] float32; b int8 [blocks, rank, block]; scale float32 [blocks, block]; blocks int64
[blocks, 3]: the first output, how many are real, and the column where the update's first half is; rows int64."""


def block_size(kind: Instructions) -> int:
    return VECTORS * kind.lanes


def source(kind: Instructions) -> str:
    module = ir.Module()
    # Beside the sums there are a block's weights and a factor.
    at_once = (kind.registers - VECTORS - 1) // VECTORS
    _run(module, kind, [_block(module, kind, rows) for rows in range(1, at_once + 1)])
    return str(module)


def _block(module: ir.Module, kind: Instructions, rows: int) -> ir.Function:
    """A block of `rows` rows of y."""
    made = function(module, f"rows_{rows}", NOTHING, [POINTER] * 4 + [LONG] * 5)
    made.linkage = "internal"
    b, (y, weight, scale, numbers, width, rank, first, real, given) = ir.IRBuilder(made.append_basic_block()), made.args
    lanes, size = kind.lanes, block_size(kind)
    floats, bytes_ = ir.VectorType(FLOAT, lanes), ir.VectorType(BYTE, lanes)

    starts = [
        at(b, y, b.mul(b.mul(load(b, at(b, numbers, LONG(8 * row)), LONG), width), LONG(4))) for row in range(rows)
    ]
    factors = [at(b, start, b.mul(given, LONG(4))) for start in starts]
    loop = Loop(b, LONG(0), rank, [floats(None)] * (VECTORS * rows))
    here = at(b, weight, b.mul(loop.index, LONG(size)))
    weights = [
        b.sitofp(b.sext(load(b, at(b, here, LONG(lanes * vector)), bytes_), ir.VectorType(INT, lanes)), floats)
        for vector in range(VECTORS)
    ]
    sums = []
    for row, place in enumerate(factors):
        factor = spread(b, load(b, at(b, place, b.mul(loop.index, LONG(4))), FLOAT), lanes)
        before = loop.values[VECTORS * row :]
        sums += [intrinsic(b, "fma", factor, weights[vector], before[vector]) for vector in range(VECTORS)]
    loop.close(sums)

    mask = ir.VectorType(BIT, lanes)
    masked_load = function(module, f"llvm.masked.load.v{lanes}f32.p0", floats, [POINTER, INT, mask, floats])
    masked_store = function(module, f"llvm.masked.store.v{lanes}f32.p0", NOTHING, [floats, POINTER, INT, mask])
    for vector in range(VECTORS):
        outputs = ir.VectorType(LONG, lanes)([LONG(lanes * vector + lane) for lane in range(lanes)])
        mine = b.icmp_signed(">", spread(b, real, lanes), outputs)
        step = load(b, at(b, scale, LONG(4 * lanes * vector)), floats)
        for row, start in enumerate(starts):
            place = at(b, start, b.mul(b.add(first, LONG(lanes * vector)), LONG(4)))
            old = b.call(masked_load, [place, INT(4), mine, floats(None)])
            new = intrinsic(b, "fma", sums[VECTORS * row + vector], step, old)
            b.call(masked_store, [new, place, INT(4), mine])
    b.ret_void()
    return made


def _run(module: ir.Module, kind: Instructions, of_rows: list[ir.Function]) -> None:
    """Each thread takes as many blocks as the others, all rows of each."""
    b, given, thread, threads = entry(module, len(POINTERS.split()), len(NUMBERS.split()))
    y, weight, scale, blocks, rows, width, rank, block_count, row_count = given
    begin, end = share(b, block_count, thread, threads)
    size, most = LONG(block_size(kind)), LONG(len(of_rows))
    with b.if_then(b.and_(b.icmp_unsigned("<", begin, end), b.icmp_unsigned("<", LONG(0), row_count))):
        tiles = b.udiv(b.add(row_count, b.sub(most, LONG(1))), most)
        block = Loop(b, begin, end)
        about = at(b, blocks, b.mul(block.index, LONG(3 * 8)))
        of_block = [
            at(b, weight, b.mul(block.index, b.mul(rank, size))),
            at(b, scale, b.mul(block.index, b.mul(size, LONG(4)))),
        ]
        place = [load(b, at(b, about, LONG(8 * number)), LONG) for number in range(3)]
        tile = Loop(b, LONG(0), tiles)
        row, after = share(b, row_count, tile.index, tiles)
        numbers = at(b, rows, b.mul(row, LONG(8)))
        cases(b, b.sub(after, row), of_rows, [y, *of_block, numbers, width, rank, *place])
        tile.close()
        block.close()
    b.ret_void()
