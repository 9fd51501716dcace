"""What the programs are written with: a few words more than llvmlite has. Numbers are bytes where memory is meant."""

from collections.abc import Callable, Sequence

from llvmlite import ir

BIT, BYTE, SHORT, INT, LONG = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
FLOAT, POINTER, NOTHING = ir.FloatType(), ir.PointerType(), ir.VoidType()


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


def function(module: ir.Module, name: str, returned: ir.Type, given: Sequence[ir.Type]) -> ir.Function:
    """The one that has this name; declared if there is none yet."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(returned, given), name)


def inner(module: ir.Module, name: str, pointers: int, numbers: int) -> tuple[ir.IRBuilder, Sequence[ir.Value]]:
    """A function of this module's own, which takes pointers to different memory first, then numbers; and these."""
    made = function(module, name, NOTHING, [POINTER] * pointers + [LONG] * numbers)
    made.linkage = "internal"
    for pointer in made.args[:pointers]:
        pointer.add_attribute("noalias")
    return ir.IRBuilder(made.append_basic_block()), made.args


def entry(module: ir.Module, pointers: int, numbers: int) -> tuple[ir.IRBuilder, list[ir.Value], ir.Value, ir.Value]:
    """`run(task)`, which each thread calls: what the task holds, the thread's number, and how many there are."""
    b = ir.IRBuilder(function(module, "run", NOTHING, [POINTER]).append_basic_block())
    task = b.function.args[0]
    kinds = [POINTER] * pointers + [LONG] * numbers
    fields = [load(b, at(b, task, LONG(8 * number)), kind) for number, kind in enumerate(kinds)]
    omp = [function(module, f"omp_get_{name}", INT, []) for name in ("thread_num", "num_threads")]
    thread, threads = (b.zext(b.call(each, []), LONG) for each in omp)
    return b, fields, thread, threads


def share(b: ir.IRBuilder, of: ir.Value, number: ir.Value, shares: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Where the share with this number begins and ends."""
    return b.udiv(b.mul(of, number), shares), b.udiv(b.mul(of, b.add(number, LONG(1))), shares)


def cases(b: ir.IRBuilder, number: ir.Value, of: Sequence[ir.Function], given: Sequence[ir.Value]) -> None:
    """Call the function with this number, from one on."""
    behind = b.append_basic_block()
    chosen = b.switch(number, behind)
    for one, each in enumerate(of, 1):
        case = b.append_basic_block()
        chosen.add_case(LONG(one), case)
        b.position_at_end(case)
        b.call(each, given)
        b.branch(behind)
    b.position_at_end(behind)


def at(b: ir.IRBuilder, pointer: ir.Value, away: ir.Value) -> ir.Value:
    return b.gep(pointer, [away], source_etype=BYTE)


def load(b: ir.IRBuilder, pointer: ir.Value, kind: ir.Type) -> ir.Value:
    return b.load(pointer, typ=kind, align=1)


def store(b: ir.IRBuilder, value: ir.Value, pointer: ir.Value) -> None:
    b.store(value, pointer, align=1)


def spread(b: ir.IRBuilder, value: ir.Value, lanes: int) -> ir.Value:
    """The value in every lane."""
    vector, nothing = ir.VectorType(value.type, lanes), ir.Undefined
    one = b.insert_element(vector(nothing), value, INT(0))
    return b.shuffle_vector(one, vector(nothing), ir.VectorType(INT, lanes)(None))


def same(kind: ir.Type, value: float, lanes: int) -> ir.Constant:
    return ir.VectorType(kind, lanes)([kind(value)] * lanes)


def intrinsic(b: ir.IRBuilder, name: str, *values: ir.Value) -> ir.Value:
    """LLVM's own function `name` of values of one type, which is also what it returns."""
    kind = values[0].type
    element, lanes = (kind.element, f"v{kind.count}") if isinstance(kind, ir.VectorType) else (kind, "")
    named = f"llvm.{name}.{lanes}{'f32' if element == FLOAT else f'i{element.width}'}"
    return b.call(function(b.module, named, kind, [kind] * len(values)), values)


def fold(
    b: ir.IRBuilder,
    add: Callable[[ir.Value, ir.Value], ir.Value],
    vectors: Callable[[int], Sequence[ir.Value]],
    lanes: int,
    first: int = 0,
) -> Sequence[ir.Value]:
    """`vectors(number)` gives some vectors for each lane's number -> as many, whose lanes are the sums of these, if
    `add` adds. Each is asked for when the one before has been added, so that few take registers.
    """
    if lanes == 1:
        return vectors(first)
    left, right = (fold(b, add, vectors, lanes // 2, start) for start in (first, first + lanes // 2))
    count = left[0].type.count
    kind = ir.VectorType(INT, count)
    halves = [kind([INT(2 * lane + odd) for lane in range(count)]) for odd in (0, 1)]
    return [
        add(*(b.shuffle_vector(one, other, half) for half in halves)) for one, other in zip(left, right, strict=True)
    ]
