"""Helpers with which kernels are written in LLVM IR, on top of llvmlite. They emit code at the builder's position."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import factorial, log

from llvmlite import ir

BIT, BYTE, SHORT, INT, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
FLOAT, POINTER, NOTHING = ir.FloatType(), ir.PointerType(), ir.VoidType()


DEGREE = 6
"""The degree of the series for powers of two."""


class Loop:
    """A loop for each `index` from `first` to `last` - 1, with at least one iteration.

    Its body is what is emitted until `close`. `values` are carried from each iteration to the next; after the loop they
    are no longer valid, but those given to `close` are.
    """

    def __init__(self, b: ir.IRBuilder, first: ir.Value, last: ir.Value, values: Sequence[ir.Value] = ()) -> None:
        self._b, self._last, before = b, last, b.block
        self._top = b.append_basic_block()
        b.branch(self._top)
        b.position_at_end(self._top)
        self.index, *self.values = self._phis = [b.phi(value.type) for value in (first, *values)]
        for phi, value in zip(self._phis, (first, *values), strict=True):
            phi.add_incoming(value, before)

    def close(self, values: Sequence[ir.Value] = ()) -> None:
        """End the body. `values` are carried to the next iteration."""
        b, following = self._b, self._b.add(self.index, LONG(1))
        for phi, value in zip(self._phis, (following, *values), strict=True):
            phi.add_incoming(value, b.block)
        behind = b.append_basic_block()
        b.cbranch(b.icmp_unsigned("<", following, self._last), self._top, behind)
        b.position_at_end(behind)


def function(module: ir.Module, name: str, returned: ir.Type, given: Sequence[ir.Type]) -> ir.Function:
    """The function of this name in the module. It is declared if it does not exist."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(returned, given), name)


def inner(module: ir.Module, name: str, pointers: int, numbers: int) -> tuple[ir.IRBuilder, Sequence[ir.Value]]:
    """A new function for use within the module: its builder and its arguments. These are pointers, which must not
    overlap, then integers.
    """
    made = function(module, name, NOTHING, [POINTER] * pointers + [LONG] * numbers)
    made.linkage = "internal"
    for pointer in made.args[:pointers]:
        pointer.add_attribute("noalias")
    return ir.IRBuilder(made.append_basic_block()), made.args


@dataclass
class Entry:
    """The beginning of `run(task, begin, end, worker)`: the task's content, the worker's number (0 is the caller), the
    range of items.
    """

    b: ir.IRBuilder
    given: list[ir.Value]
    worker: ir.Value
    items: tuple[ir.Value, ir.Value]

    @classmethod
    def of(cls, module: ir.Module, pointers: str, numbers: str, name: str = "run") -> "Entry":
        """Begin the function. The task holds the pointers, then the numbers, 8 bytes each."""
        b = ir.IRBuilder(function(module, name, NOTHING, [POINTER, LONG, LONG, LONG]).append_basic_block())
        kinds = [POINTER for _ in pointers.split()] + [LONG for _ in numbers.split()]
        task, begin, end, worker = b.function.args
        given = [load(b, at(b, task, 8 * number), kind) for number, kind in enumerate(kinds)]
        return cls(b, given, worker, (begin, end))

    @contextmanager
    def each(self) -> Iterator[ir.Value]:
        """Emit a loop over the items, whose body is what is emitted within this context."""
        loop = Loop(self.b, *self.items)
        yield loop.index
        loop.close()


def share(b: ir.IRBuilder, of: ir.Value, number: ir.Value, shares: ir.Value) -> tuple[ir.Value, ir.Value]:
    """(begin, end) of the share with this number, when `of` items are divided into equal `shares`."""
    return b.udiv(b.mul(of, number), shares), b.udiv(b.mul(of, b.add(number, LONG(1))), shares)


def cases(b: ir.IRBuilder, number: ir.Value, of: Sequence[ir.Function], given: Sequence[ir.Value]) -> None:
    """Emit a call of one of the functions: the first if `number` is 1, and so on."""
    behind = b.append_basic_block()
    chosen = b.switch(number, behind)
    for one, each in enumerate(of, 1):
        case = b.append_basic_block()
        chosen.add_case(LONG(one), case)
        b.position_at_end(case)
        b.call(each, given)
        b.branch(behind)
    b.position_at_end(behind)


@dataclass
class Tile:
    """Rows that are processed together: the first row, the number of rows, the number of the tile, the
    number of tiles.
    """

    row: ir.Value
    rows: ir.Value
    number: ir.Value
    count: ir.Value


@contextmanager
def tiles(b: ir.IRBuilder, rows: ir.Value, most: int) -> Iterator[Tile]:
    """Emit a loop over tiles of rows, whose body is what is emitted within this context.

    There are as few tiles as possible with at most `most` rows each, of almost equal size. There must be at least one
    row.
    """
    count = b.udiv(b.add(rows, LONG(most - 1)), LONG(most))
    loop = Loop(b, LONG(0), count)
    row, end = share(b, rows, loop.index, count)
    yield Tile(row, b.sub(end, row), loop.index, count)
    loop.close()


def at(b: ir.IRBuilder, pointer: ir.Value, away: ir.Value | int) -> ir.Value:
    """The pointer plus this many bytes."""
    return b.gep(pointer, [LONG(away) if isinstance(away, int) else away], source_etype=BYTE)


def float_at(b: ir.IRBuilder, pointer: ir.Value, number: ir.Value | int) -> ir.Value:
    """The pointer plus this many floats."""
    return at(b, pointer, 4 * number if isinstance(number, int) else b.mul(number, LONG(4)))


def load(b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
    return b.load(pointer, typ=kind, align=1)


def store(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value) -> None:
    b.store(value, pointer, align=1)


def masked_load(b: ir.IRBuilder, pointer: ir.Value, mask: ir.Value) -> ir.Value:
    """The floats at the pointer where the mask is set, 0 elsewhere. No other memory is read."""
    kind = floats(mask.type.count)
    of = function(b.module, f"llvm.masked.load.v{kind.count}f32.p0", kind, [POINTER, INT, mask.type, kind])
    return b.call(of, [pointer, INT(4), mask, kind(None)])


def masked_store(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value, mask: ir.Value) -> None:
    """Store those floats of a vector for which the mask is set."""
    named = f"llvm.masked.store.v{value.type.count}f32.p0"
    b.call(function(b.module, named, NOTHING, [value.type, POINTER, INT, mask.type]), [value, pointer, INT(4), mask])


def floats(lanes: int) -> ir.VectorType:
    return ir.VectorType(FLOAT, lanes)


def ints(lanes: int) -> ir.VectorType:
    return ir.VectorType(INT, lanes)


def spread(b: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """A vector with the value in every lane."""
    vector, nothing = ir.VectorType(value.type, lanes), ir.Undefined
    one = b.insert_element(vector(nothing), value, INT(0))
    return b.shuffle_vector(one, vector(nothing), ints(lanes)(None))


def same(kind: ir.Type, value: float, lanes: int) -> ir.Constant:
    """A constant vector with the value in every lane."""
    return ir.VectorType(kind, lanes)([kind(value)] * lanes)


def real(b: ir.IRBuilder, count: ir.Value, lanes: int, first: int = 0) -> ir.Value:
    """A mask, set for each lane with first + lane < count."""
    numbers = ir.VectorType(LONG, lanes)([LONG(first + lane) for lane in range(lanes)])
    return b.icmp_signed("<", numbers, spread(b, count, lanes))


def intrinsic(b: ir.IRBuilder, name: str, *values: ir.Value) -> ir.Value:
    """Call LLVM's intrinsic `name` on floats, or on vectors of floats. The result has the same type."""
    kind = values[0].type
    suffix = f"v{kind.count}f32" if isinstance(kind, ir.VectorType) else "f32"
    return b.call(function(b.module, f"llvm.{name}.{suffix}", kind, [kind] * len(values)), values)


def fma(b: ir.IRBuilder, one: ir.Value, other: ir.Value, more: ir.Value) -> ir.Value:
    return intrinsic(b, "fma", one, other, more)


def total(b: ir.IRBuilder, vector: ir.Value) -> ir.Value:
    """The sum of a vector's floats; the halves of the vector are added first."""
    named = f"llvm.vector.reduce.fadd.v{vector.type.count}f32"
    return b.call(function(b.module, named, FLOAT, [FLOAT, vector.type]), [FLOAT(-0.0), vector], fastmath=("reassoc",))


def largest(b: ir.IRBuilder, vector: ir.Value) -> ir.Value:
    """The largest of a vector's floats."""
    named = f"llvm.vector.reduce.fmax.v{vector.type.count}f32"
    return b.call(function(b.module, named, FLOAT, [vector.type]), [vector])


def power_of_two(b: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """2 to the power x, for -126 <= x <= 126: exact for the whole part, a series for the fraction; relative error up to
    2e-7.
    """
    lanes = x.type.count
    whole = intrinsic(b, "nearbyint", x)
    fraction, series = b.fsub(x, whole), same(FLOAT, log(2) ** DEGREE / factorial(DEGREE), lanes)
    for power in reversed(range(DEGREE)):
        series = fma(b, series, fraction, same(FLOAT, log(2) ** power / factorial(power), lanes))
    exponent = b.shl(b.add(b.fptosi(whole, ints(lanes)), same(INT, 127, lanes)), same(INT, 23, lanes))
    return b.fmul(series, b.bitcast(exponent, floats(lanes)))


def fold(
    b: ir.IRBuilder,
    add: Callable[[ir.Value, ir.Value], ir.Value],
    vectors: Callable[[int], Sequence[ir.Value]],
    lanes: int,
    first: int = 0,
) -> Sequence[ir.Value]:
    """Sum vectors across their lanes, with `add` as the addition of two vectors.

    `vectors(i)` returns n vectors for each i from `first` to first + lanes - 1. The result is n vectors: lane i - first
    of result m is the sum of all lanes of vector m of `vectors(i)`. Each `vectors(i)` is called only when those before
    have been folded, so that few registers are needed.
    """
    if lanes == 1:
        return vectors(first)
    left, right = (fold(b, add, vectors, lanes // 2, start) for start in (first, first + lanes // 2))
    count = left[0].type.count
    halves = [ints(count)([INT(2 * lane + odd) for lane in range(count)]) for odd in (0, 1)]
    return [
        add(*(b.shuffle_vector(one, other, half) for half in halves)) for one, other in zip(left, right, strict=True)
    ]
