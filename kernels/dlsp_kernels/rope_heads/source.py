"""Writes the kernel of `rope_heads` in LLVM IR, for given vector instructions."""

from llvmlite import ir

from dlsp_kernels.hadamard.reference import group_size
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    FLOAT,
    INT,
    LONG,
    Entry,
    Loop,
    float_at,
    floats,
    fma,
    ints,
    load,
    same,
    spread,
    store,
)

POINTERS, NUMBERS = "y y_scale bias cos sin out", "y_row"


def source(_: Instructions, half: int, heads: int, kv_heads: int, transform: bool = False) -> str:
    """The kernel's LLVM IR. A work item is a row; `half` is half the size of a head."""
    module, turned, count = ir.Module(), heads + kv_heads, heads + 2 * kv_heads
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (y, y_scale, bias, cos, sin, out, y_row) = entry.b, entry.given
    with entry.each() as row:
        given, result = float_at(b, y, b.mul(row, y_row)), float_at(b, out, b.mul(row, LONG(count * 2 * half)))
        step = spread(b, load(b, float_at(b, y_scale, row), FLOAT), half)

        def read(pointer: ir.Value, place: ir.Value) -> ir.Value:
            return load(b, float_at(b, pointer, place), floats(half))

        c, s = (read(each, b.mul(row, LONG(half))) for each in (cos, sin))
        for first, last in ((0, turned), (turned, count)):
            loop = Loop(b, LONG(first), LONG(last))
            head = b.mul(loop.index, LONG(2 * half))
            places = head, b.add(head, LONG(half))
            left, right = (fma(b, read(given, place), step, read(bias, place)) for place in places)
            if first == 0:
                left, right = b.fsub(b.fmul(left, c), b.fmul(right, s)), b.fadd(b.fmul(right, c), b.fmul(left, s))
                if transform:
                    left, right = _hadamard(b, left, right)
            for value, place in zip((left, right), places, strict=True):
                store(b, value, float_at(b, result, place))
            loop.close()
    b.ret_void()
    return str(module)


def _hadamard(b: ir.IRBuilder, left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Emit `hadamard` of one head, whose halves are `left` and `right`."""
    half = left.type.count
    size = group_size(2 * half)
    left, right = b.fadd(left, right), b.fsub(left, right)
    distance = half // 2
    while distance >= 2 * half // size:
        second = [lane // distance % 2 == 1 for lane in range(half)]  # of a pair
        partners = ints(half)(
            [INT(lane + (-distance if is_second else distance)) for lane, is_second in enumerate(second)]
        )
        signs = ir.VectorType(FLOAT, half)([FLOAT(-1.0 if is_second else 1.0) for is_second in second])
        left, right = (fma(b, one, signs, b.shuffle_vector(one, one, partners)) for one in (left, right))
        distance //= 2
    factor = same(FLOAT, size**-0.5, half)
    return b.fmul(left, factor), b.fmul(right, factor)
