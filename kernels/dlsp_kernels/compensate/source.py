"""Writes the kernel of `compensated_piece` in LLVM IR, for given vector instructions.

Outputs do not depend on each other, so each lane of a vector is an output. The kernel replaces each weight by its error
as soon as it is rounded: the errors of a group's earlier inputs are in the same memory as the weights still to come.
"""

from llvmlite import ir

from dlsp_kernels.int4_linear.reference import GROUP, MOST_CODE, MOST_STEP, MOST_WEIGHT, SHARES
from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    BYTE,
    FLOAT,
    LONG,
    Entry,
    Loop,
    at,
    float_at,
    floats,
    fma,
    intrinsic,
    ints,
    load,
    same,
    spread,
    store,
)

# Inputs of a group that take over earlier errors at once: each error is then loaded once for all of them.
TOGETHER = 8

# The kernel's arguments. weight float32 [blocks, ins, lanes], overwritten; share float32 [ins, ins]; codes uint8
# [blocks, ins, lanes]; step and minimum float32 [blocks, ins / GROUP, lanes].
POINTERS, NUMBERS = "weight share codes step minimum", "ins"


def source(kind: Instructions) -> str:
    """The kernel's LLVM IR. A work item is a block: one vector of outputs."""
    module, lanes = ir.Module(), kind.lanes
    entry = Entry.of(module, POINTERS, NUMBERS)
    b, (weight, share, codes, step, minimum, ins) = entry.b, entry.given
    groups = b.udiv(ins, LONG(GROUP))
    with entry.each() as item:
        of_weight = float_at(b, weight, b.mul(item, b.mul(ins, LONG(lanes))))
        of_codes = at(b, codes, b.mul(item, b.mul(ins, LONG(lanes))))
        loop = Loop(b, LONG(0), groups)
        first = b.mul(loop.index, LONG(GROUP))
        group, shares = float_at(b, of_weight, b.mul(first, LONG(lanes))), float_at(b, share, b.mul(first, ins))
        with b.if_then(b.icmp_unsigned("<", LONG(0), first)):
            _take_over(b, of_weight, group, shares, first, ins, lanes)
        best_step, best_minimum = _best_range(b, group, lanes)
        of_group = b.mul(b.add(b.mul(item, groups), loop.index), LONG(lanes))
        store(b, best_step, float_at(b, step, of_group))
        store(b, best_minimum, float_at(b, minimum, of_group))
        for place in range(GROUP):
            value = load(b, float_at(b, group, place * lanes), floats(lanes))
            for earlier in range(place):
                error = load(b, float_at(b, group, earlier * lanes), floats(lanes))
                of_share = b.add(b.mul(ins, LONG(place)), b.add(first, LONG(earlier)))
                value = fma(b, error, _share(b, shares, of_share, lanes), value)
            code = _code(b, value, best_step, best_minimum)
            store(b, b.fsub(value, _weight(b, code, best_step, best_minimum)), float_at(b, group, place * lanes))
            number = b.trunc(b.fptosi(code, ints(lanes)), ir.VectorType(BYTE, lanes))
            store(b, number, at(b, of_codes, b.mul(b.add(first, LONG(place)), LONG(lanes))))
        loop.close()
    b.ret_void()
    return str(module)


def _take_over(
    b: ir.IRBuilder,
    errors: ir.Value,
    group: ir.Value,
    shares: ir.Value,
    first: ir.Value,
    ins: ir.Value,
    lanes: int,
) -> None:
    """Emit: add to each input of a group what it takes over of the errors of the inputs before `first`."""
    for start in range(0, GROUP, TOGETHER):
        places = [float_at(b, group, (start + number) * lanes) for number in range(TOGETHER)]
        loop = Loop(b, LONG(0), first, [load(b, place, floats(lanes)) for place in places])
        error = load(b, float_at(b, errors, b.mul(loop.index, LONG(lanes))), floats(lanes))
        of_shares = [b.add(b.mul(ins, LONG(start + number)), loop.index) for number in range(TOGETHER)]
        sums = [
            fma(b, error, _share(b, shares, of_share, lanes), value)
            for of_share, value in zip(of_shares, loop.values, strict=True)
        ]
        loop.close(sums)
        for place, value in zip(places, sums, strict=True):
            store(b, value, place)


def _best_range(b: ir.IRBuilder, group: ir.Value, lanes: int) -> tuple[ir.Value, ir.Value]:
    """Emit `best_range` of the group at this address."""

    def weight(loop: Loop) -> ir.Value:
        return load(b, float_at(b, group, b.mul(loop.index, LONG(lanes))), floats(lanes))

    loop = Loop(b, LONG(0), LONG(GROUP), [_all(lanes, float("inf")), _all(lanes, float("-inf"))])
    value, (low, high) = weight(loop), loop.values
    low, high = intrinsic(b, "minnum", value, low), intrinsic(b, "maxnum", value, high)
    loop.close([low, high])
    middle = b.fmul(b.fadd(low, high), _all(lanes, 0.5))
    size = b.fmul(b.fsub(high, low), _all(lanes, 1 / MOST_CODE))
    best = [_all(lanes, 1.0), _all(lanes, 0.0), _all(lanes, float("inf"))]
    for share in SHARES:
        step = _clamped(b, intrinsic(b, "nearbyint", b.fmul(size, _all(lanes, share))), 1, MOST_STEP)
        minimum = intrinsic(b, "nearbyint", fma(b, step, _all(lanes, -MOST_CODE / 2), middle))
        minimum = intrinsic(b, "maxnum", minimum, _all(lanes, -MOST_WEIGHT))
        minimum = intrinsic(b, "minnum", minimum, fma(b, step, _all(lanes, -MOST_CODE), _all(lanes, MOST_WEIGHT)))
        loop = Loop(b, LONG(0), LONG(GROUP), [_all(lanes, 0.0)])
        value = weight(loop)
        error = b.fsub(value, _weight(b, _code(b, value, step, minimum), step, minimum))
        total = fma(b, error, error, loop.values[0])
        loop.close([total])
        less = b.fcmp_ordered("<", total, best[2])
        best = [b.select(less, new, old) for new, old in zip((step, minimum, total), best, strict=True)]
    return best[0], best[1]


def _code(b: ir.IRBuilder, value: ir.Value, step: ir.Value, minimum: ir.Value) -> ir.Value:
    return _clamped(b, intrinsic(b, "nearbyint", b.fdiv(b.fsub(value, minimum), step)), 0, MOST_CODE)


def _weight(b: ir.IRBuilder, code: ir.Value, step: ir.Value, minimum: ir.Value) -> ir.Value:
    return fma(b, code, step, minimum)


def _share(b: ir.IRBuilder, shares: ir.Value, number: ir.Value, lanes: int) -> ir.Value:
    return spread(b, load(b, float_at(b, shares, number), FLOAT), lanes)


def _clamped(b: ir.IRBuilder, value: ir.Value, low: float, high: float) -> ir.Value:
    lanes = value.type.count
    return intrinsic(b, "minnum", intrinsic(b, "maxnum", value, _all(lanes, low)), _all(lanes, high))


def _all(lanes: int, value: float) -> ir.Constant:
    return same(FLOAT, float(value), lanes)
