"""The program that multiplies rows of x by an int8 weight, written with llvmlite for a processor's instructions.

A weight [out, in] lies as [out / block, in / 4, block, 4]: of a block of outputs, the same 4 inputs lie together. A
vector's lane multiplies four such weights by four inputs of a row of x and adds the products to a sum. So a block is
read from one end to the other, and what comes of it stays in registers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

VECTORS = 4
"""Vectors of sums that a row and a block of outputs make."""

FIELDS = ("weight", "correction", "scale", "x", "out", "blocks", "fours", "outs", "rows")
POINTERS = 5
"""A task: pointers first, then numbers, 8 bytes each. x is [rows, 4 * fours], out [rows, outs]."""

BIT, SHORT, INT, LONG, FLOAT = ir.IntType(1), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
BYTE, POINTER, NOTHING = ir.IntType(8), ir.PointerType(), ir.VoidType()


@dataclass(frozen=True)
class Instructions:
    """The processor's `features`, by LLVM's names, the `lanes` of 32 bits of a vector, and how many rows' sums fit into
    the registers. Without `vnni`, two products are added in 16 bits first, where only 7 bits of x are safe.
    """

    name: str
    features: tuple[str, ...]
    lanes: int
    rows: int
    vnni: bool

    @property
    def block(self) -> int:
        return VECTORS * self.lanes

    @property
    def levels(self) -> int:
        """Of x, on either side of its zero."""
        return 127 if self.vnni else 63


AVX512_VNNI = Instructions("AVX-512 VNNI", ("avx512f", "avx512bw", "avx512vl", "avx512vnni"), 16, rows=6, vnni=True)
AVX_VNNI = Instructions("AVX-VNNI", ("avx2", "avxvnni"), 8, rows=3, vnni=True)
AVX2 = Instructions("AVX2", ("avx2",), 8, rows=3, vnni=False)


def source(kind: Instructions) -> str:
    """LLVM's language: `run(task)` is what each of the threads does."""
    module = ir.Module()
    _run(module, kind, [_block(module, kind, rows) for rows in range(1, kind.rows + 1)])
    return str(module)


class Loop:
    """From here to `close`, for each `index` from `first` to `last` - 1, at least once; it carries `values` along."""

    def __init__(self, b: ir.IRBuilder, first: ir.Value, last: ir.Value, values: Sequence[ir.Value] = ()) -> None:
        self._b, self._last, before = b, last, b.block
        self._top = b.append_basic_block()
        b.branch(self._top)
        b.position_at_end(self._top)
        self.index, *self.values = self._phis = [b.phi(value.type) for value in (first, *values)]
        for phi, value in zip(self._phis, (first, *values), strict=True):
            phi.add_incoming(value, before)

    def close(self, values: Sequence[ir.Value] = ()) -> None:
        b, following = self._b, self._b.add(self.index, LONG(1))
        for phi, value in zip(self._phis, (following, *values), strict=True):
            phi.add_incoming(value, b.block)
        behind = b.append_basic_block()
        b.cbranch(b.icmp_unsigned("<", following, self._last), self._top, behind)
        b.position_at_end(behind)


def _block(module: ir.Module, kind: Instructions, rows: int) -> ir.Function:
    """`rows` rows of x times a block of outputs, of which, with those behind, `left` are real."""
    function = _function(module, f"rows_{rows}", NOTHING, [POINTER] * POINTERS + [LONG] * 3)
    function.linkage = "internal"
    for pointer in function.args[:POINTERS]:
        pointer.add_attribute("noalias")
    weight, correction, scale, x, out, fours, outs, left = function.args
    ints, floats, size = ir.VectorType(INT, kind.lanes), ir.VectorType(FLOAT, kind.lanes), 4 * kind.lanes
    b = ir.IRBuilder(function.append_basic_block())

    starts = [_at(b, x, b.mul(fours, LONG(4 * row))) for row in range(rows)]
    loop = Loop(b, LONG(0), fours, [ints(None)] * (VECTORS * rows))
    here = _at(b, weight, b.mul(loop.index, LONG(VECTORS * size)))
    weights = [_load(b, _at(b, here, LONG(size * vector)), ints) for vector in range(VECTORS)]
    sums = []
    for row, start in enumerate(starts):
        four = _spread(b, _load(b, _at(b, start, b.mul(loop.index, LONG(4))), INT), kind.lanes)
        before = loop.values[VECTORS * row :]
        sums += [_add_products(b, kind, before[vector], four, weights[vector]) for vector in range(VECTORS)]
    loop.close(sums)

    store = _function(
        module,
        f"llvm.masked.store.v{kind.lanes}f32.p0",
        NOTHING,
        [floats, POINTER, INT, ir.VectorType(BIT, kind.lanes)],
    )
    for vector in range(VECTORS):
        first = kind.lanes * vector
        outputs = ir.VectorType(LONG, kind.lanes)([LONG(first + lane) for lane in range(kind.lanes)])
        real = b.icmp_signed(">", _spread(b, left, kind.lanes), outputs)
        less = _load(b, _at(b, correction, LONG(4 * first)), ints)
        factor = _load(b, _at(b, scale, LONG(4 * first)), floats)
        for row in range(rows):
            y = b.fmul(b.sitofp(b.sub(sums[VECTORS * row + vector], less), floats), factor)
            place = b.add(b.mul(outs, LONG(row)), LONG(first))
            b.call(store, [y, _at(b, out, b.mul(place, LONG(4))), INT(4), real])
    b.ret_void()
    return function


def _add_products(b: ir.IRBuilder, kind: Instructions, sums: ir.Value, x: ir.Value, weights: ir.Value) -> ir.Value:
    """sums + x * weights, fours of bytes in each lane: x without a sign, weights with one."""
    ints, bits = ir.VectorType(INT, kind.lanes), 32 * kind.lanes
    if kind.vnni:
        return b.call(_function(b.module, f"llvm.x86.avx512.vpdpbusd.{bits}", ints, [ints] * 3), [sums, x, weights])
    bytes_, shorts = ir.VectorType(BYTE, 4 * kind.lanes), ir.VectorType(SHORT, 2 * kind.lanes)
    by_twos = _function(b.module, "llvm.x86.avx2.pmadd.ub.sw", shorts, [bytes_] * 2)
    by_fours = _function(b.module, "llvm.x86.avx2.pmadd.wd", ints, [shorts] * 2)
    twos = b.call(by_twos, [b.bitcast(x, bytes_), b.bitcast(weights, bytes_)])
    return b.add(sums, b.call(by_fours, [twos, shorts([SHORT(1)] * 2 * kind.lanes)]))


def _run(module: ir.Module, kind: Instructions, functions: Sequence[ir.Function]) -> None:
    """Each thread takes as many blocks as the others, one block after the other, all rows of each."""
    function = _function(module, "run", NOTHING, [POINTER])
    b = ir.IRBuilder(function.append_basic_block())
    weight, correction, scale, x, out, blocks, fours, outs, rows = (
        _load(b, _at(b, function.args[0], LONG(8 * number)), POINTER if number < POINTERS else LONG)
        for number in range(len(FIELDS))
    )
    omp = [_function(module, f"omp_get_{name}", INT, []) for name in ("thread_num", "num_threads")]
    thread, threads = (b.zext(b.call(each, []), LONG) for each in omp)
    first, last = _share(b, blocks, thread, threads)
    with b.if_then(b.and_(b.icmp_unsigned("<", first, last), b.icmp_unsigned("<", LONG(0), rows))):
        tiles = b.udiv(b.add(rows, LONG(kind.rows - 1)), LONG(kind.rows))
        block = Loop(b, first, last)
        output = b.mul(block.index, LONG(kind.block))
        of_block = [
            _at(b, weight, b.mul(b.mul(output, fours), LONG(4))),
            _at(b, correction, b.mul(output, LONG(4))),
            _at(b, scale, b.mul(output, LONG(4))),
        ]
        tile = Loop(b, LONG(0), tiles)
        row, end = _share(b, rows, tile.index, tiles)
        of_tile = [
            _at(b, x, b.mul(b.mul(row, fours), LONG(4))),
            _at(b, out, b.mul(b.add(b.mul(row, outs), output), LONG(4))),
        ]
        done = b.append_basic_block()
        chosen = b.switch(b.sub(end, row), done)
        for number, each in enumerate(functions, 1):
            case = b.append_basic_block()
            chosen.add_case(LONG(number), case)
            b.position_at_end(case)
            b.call(each, [*of_block, *of_tile, fours, outs, b.sub(outs, output)])
            b.branch(done)
        b.position_at_end(done)
        tile.close()
        block.close()
    b.ret_void()


def _share(b: ir.IRBuilder, of: ir.Value, number: ir.Value, shares: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Where the share with this number begins and ends."""
    return b.udiv(b.mul(of, number), shares), b.udiv(b.mul(of, b.add(number, LONG(1))), shares)


def _function(module: ir.Module, name: str, returned: ir.Type, given: Sequence[ir.Type]) -> ir.Function:
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(returned, given), name)


def _at(b: ir.IRBuilder, pointer: ir.Value, bytes_: ir.Value) -> ir.Value:
    return b.gep(pointer, [bytes_], source_etype=BYTE)


def _load(b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
    return b.load(pointer, typ=kind, align=1)


def _spread(b: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """The value in every lane."""
    vector, nothing = ir.VectorType(value.type, lanes), ir.Undefined
    one = b.insert_element(vector(nothing), value, INT(0))
    return b.shuffle_vector(one, vector(nothing), ir.VectorType(INT, lanes)(None))
