"""Writes the attention kernel in LLVM IR, for given vector instructions and sizes of heads.

A work item is one row and one key head, with all query heads that share it. A row sees the first `visible` keys, then
those of its own canvas. The kernel treats both as one sequence of keys. So a row's sums are added in the same order,
wherever its own keys are and whatever else is in the step.

As many keys are scored at once as a vector has lanes: each key gives a vector of products, and these vectors are folded
into one vector of sums. At the end of the sequence, where fewer keys are left, the kernel reads on and masks the
surplus. It never reads beyond the cache's memory, because the values come after all keys.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import log, sqrt
from typing import NamedTuple

from llvmlite import ir

from dlsp_kernels.program.instructions import Instructions
from dlsp_kernels.program.writing import (
    FLOAT,
    LONG,
    POINTER,
    Entry,
    Loop,
    at,
    float_at,
    floats,
    fma,
    fold,
    inner,
    intrinsic,
    largest,
    load,
    power_of_two,
    real,
    same,
    spread,
    store,
    total,
)

POINTERS, NUMBERS = "q k v out scores places", "q_row k_row v_row layer size"
"""The kernel's arguments. q, k, v as in `canvas_attention`, with `q_row`, `k_row`, `v_row` floats from one row to the
next; out [rows, heads * d]; scores [workers, query heads per key head, size]; places int64 [rows, 8], a `Place` per
row.
"""


class Place(NamedTuple):
    """Where a row's keys are, and which of them it sees. Keys are numbered from the session's position 0.

    - `keys`: address of the session's keys of layer 0
    - `layer_bytes`, `values_away`, `head_bytes`: bytes from there to the next layer, to the values, to the next head
    - `place`: number of the row's own key
    - `visible`: the row sees the keys 0 … visible - 1
    - `first`, `last`: it also sees the keys first … last - 1, which are its canvas, or only itself for an alternative
    """

    keys: int
    layer_bytes: int
    values_away: int
    head_bytes: int
    place: int
    visible: int
    first: int
    last: int


CHAIN = 8
"""The most additions of a dot product in one chain, where each has to wait for the one before."""

NEAR = 64
"""The number of keys whose values stay in the first-level cache while all query heads use them."""


class Writer:
    """Writes the kernel for heads of d floats."""

    def __init__(self, kind: Instructions, d: int, heads: int, kv_heads: int) -> None:
        self.lanes, self.d, self.kv_heads, self.groups = kind.lanes, d, kv_heads, heads // kv_heads
        self.module = ir.Module()
        self.floats = floats(kind.lanes)
        self.parts = range(0, d, kind.lanes)
        self.sums_at_once = 3 * kind.registers // 4
        self.at_once = 2 if 4 * len(self.parts) <= kind.registers else 1  # query heads

    def source(self) -> str:
        """The LLVM IR of two functions: `before` writes keys and values to the caches, `run` attends."""
        self._put_first()
        self._run(self._row(self._score(), self._softmax(), self._weigh()))
        return str(self.module)

    def _score(self) -> ir.Function:
        """A function that writes scores [groups, size] of `count` keys, padded with -inf to whole vectors."""
        b, (q, keys, scores, visible, away, count, size) = inner(self.module, "score", 3, 4)
        blocks = self._blocks(b, count)
        block = Loop(b, LONG(0), blocks)
        key = b.mul(block.index, LONG(self.lanes))
        places = [self._place(b, b.add(key, LONG(lane)), visible, away) for lane in range(self.lanes)]
        seen = real(b, b.sub(count, key), self.lanes)

        def score(heads: list[ir.Value]) -> None:
            queries = [self._vectors(b, float_at(b, q, b.mul(head, LONG(self.d)))) for head in heads]

            def products(lane: int) -> list[ir.Value]:
                mine = self._vectors(b, float_at(b, keys, places[lane]))
                return [self._product(b, query, mine) for query in queries]

            for head, found in zip(heads, fold(b, b.fadd, products, self.lanes), strict=True):
                masked = b.select(seen, found, self._all(float("-inf")))
                store(b, masked, float_at(b, scores, b.add(b.mul(head, size), key)))

        self._all_heads(b, score)
        block.close()
        b.ret_void()
        return b.function

    def _softmax(self) -> ir.Function:
        """A function that turns the first `count` (whole vectors) of scores [groups, size] into exponentials, not yet
        normalised. Behind those of each head it stores 1 / their sum.
        """
        b, (scores, count, size) = inner(self.module, "softmax", 1, 2)
        blocks = self._blocks(b, count)
        head = Loop(b, LONG(0), LONG(self.groups))
        mine = float_at(b, scores, b.mul(head.index, size))

        def vector(loop: Loop) -> ir.Value:
            return float_at(b, mine, b.mul(loop.index, LONG(self.lanes)))

        loop = Loop(b, LONG(0), blocks, [self._all(float("-inf"))])
        highest = intrinsic(b, "maxnum", loop.values[0], load(b, vector(loop), self.floats))
        loop.close([highest])
        highest = spread(b, largest(b, highest), self.lanes)

        loop = Loop(b, LONG(0), blocks, [self.floats(None)])
        less = b.fsub(load(b, vector(loop), self.floats), highest)
        power, lowest = b.fmul(less, self._all(1 / (log(2) * sqrt(self.d)))), self._all(-126.0)
        weights = power_of_two(b, intrinsic(b, "maxnum", power, lowest))
        weights = b.select(b.fcmp_ordered("<", power, lowest), self._all(0.0), weights)
        store(b, weights, vector(loop))
        sums = b.fadd(loop.values[0], weights)
        loop.close([sums])
        store(b, b.fdiv(FLOAT(1), total(b, sums)), float_at(b, mine, count))
        head.close()
        b.ret_void()
        return b.function

    def _weigh(self) -> ir.Function:
        """A function that adds to out [groups, d] the `count` values, multiplied by weights [groups, size]."""
        b, (weights, values, out, visible, away, count, size) = inner(self.module, "weigh", 3, 4)
        tiles = b.udiv(b.add(count, LONG(NEAR - 1)), LONG(NEAR))
        tile = Loop(b, LONG(0), tiles)
        begin = b.mul(tile.index, LONG(NEAR))
        end = b.add(begin, LONG(NEAR))
        end = b.select(b.icmp_unsigned("<", end, count), end, count)

        def weigh(heads: list[ir.Value]) -> None:
            mine = [float_at(b, weights, b.mul(head, size)) for head in heads]
            turns = -(-len(heads) * len(self.parts) // self.sums_at_once)
            for turn in range(turns):
                weigh_parts(heads, mine, self.parts[turn::turns])

        def weigh_parts(heads: list[ir.Value], mine: list[ir.Value], parts: Sequence[int]) -> None:
            results = [float_at(b, out, b.mul(head, LONG(self.d))) for head in heads]
            key = Loop(b, begin, end, [vector for result in results for vector in self._vectors(b, result, parts)])
            here = float_at(b, values, self._place(b, key.index, visible, away))
            value, before = self._vectors(b, here, parts), iter(key.values)
            factors = [spread(b, load(b, float_at(b, each, key.index), FLOAT), self.lanes) for each in mine]
            sums = [fma(b, factor, part, next(before)) for factor in factors for part in value]
            key.close(sums)
            for number, result in enumerate(results):
                self._put(b, sums[number * len(parts) :][: len(parts)], result, parts)

        self._all_heads(b, weigh)
        tile.close()
        b.ret_void()
        return b.function

    def _row(self, score: ir.Function, softmax: ir.Function, weigh: ir.Function) -> ir.Function:
        """A function for one work item: out [groups, d] from q [groups, d] and one head's keys and values."""
        b, (q, keys, values, scores, out, visible, first, last, size) = inner(self.module, "row", 5, 4)
        canvas, away = b.sub(last, first), b.sub(first, visible)
        count = b.add(visible, canvas)
        seen = [visible, away, count, size]
        b.call(score, [q, keys, scores, *seen])
        keys_scored = b.mul(self._blocks(b, count), LONG(self.lanes))
        b.call(softmax, [scores, keys_scored, size])
        for number in range(self.groups):
            self._put(b, [self.floats(None)] * len(self.parts), float_at(b, out, number * self.d))
        b.call(weigh, [scores, values, out, *seen])
        head = Loop(b, LONG(0), LONG(self.groups))
        by_sum = load(b, float_at(b, scores, b.add(b.mul(head.index, size), keys_scored)), FLOAT)
        here = float_at(b, out, b.mul(head.index, LONG(self.d)))
        self._put(b, [b.fmul(one, spread(b, by_sum, self.lanes)) for one in self._vectors(b, here)], here)
        head.close()
        b.ret_void()
        return b.function

    def _put_first(self) -> None:
        """Write `before`, which stores the keys and values of all rows in the caches. It runs for all items before any
        row attends.
        """
        entry = Entry.of(self.module, POINTERS, NUMBERS, "before")
        b, (_, k, v, _, _, places, _, k_row, v_row, layer, _) = entry.b, entry.given
        with entry.each() as item:
            of_row, head, keys, values, (place, *_) = self._of(b, places, layer, item)
            for given, stride, kept in ((k, k_row, keys), (v, v_row, values)):
                new = float_at(b, given, b.add(b.mul(of_row, stride), b.mul(head, LONG(self.d))))
                self._put(b, self._vectors(b, new), float_at(b, kept, b.mul(place, LONG(self.d))))
        b.ret_void()

    def _run(self, row: ir.Function) -> None:
        entry = Entry.of(self.module, POINTERS, NUMBERS)
        b, (q, _, _, out, scores, places, q_row, _, _, layer, size) = entry.b, entry.given
        mine = float_at(b, scores, b.mul(entry.worker, b.mul(size, LONG(self.groups))))
        with entry.each() as item:
            of_row, head, keys, values, (_, *seen) = self._of(b, places, layer, item)
            first_query = b.mul(head, LONG(self.groups * self.d))
            query = float_at(b, q, b.add(b.mul(of_row, q_row), first_query))
            width = LONG(self.kv_heads * self.groups * self.d)
            result = float_at(b, out, b.add(b.mul(of_row, width), first_query))
            b.call(row, [query, keys, values, mine, result, *seen, size])
        b.ret_void()

    def _of(
        self, b: ir.IRBuilder, places: ir.Value, layer: ir.Value, item: ir.Value
    ) -> tuple[ir.Value, ir.Value, ir.Value, ir.Value, list[ir.Value]]:
        """An item's row, its key head, the addresses of that head's keys and values, and the rest of the
        row's `Place`.
        """
        of_row, head = b.udiv(item, LONG(self.kv_heads)), b.urem(item, LONG(self.kv_heads))
        place = at(b, places, b.mul(of_row, LONG(8 * len(Place._fields))))
        numbers = [load(b, at(b, place, 8 * number), LONG) for number in range(1, len(Place._fields))]
        layer_bytes, values_away, head_bytes, *rest = numbers
        away = b.add(b.mul(layer, layer_bytes), b.mul(head, head_bytes))
        keys = at(b, load(b, place, POINTER), away)
        return of_row, head, keys, at(b, keys, values_away), rest

    def _place(self, b: ir.IRBuilder, key: ir.Value, visible: ir.Value, away: ir.Value) -> ir.Value:
        """The offset, in floats, of a key in the sequence that a row sees. Keys from `visible` on are `away` keys
        further.
        """
        moved = b.select(b.icmp_unsigned("<", key, visible), key, b.add(key, away))
        return b.mul(moved, LONG(self.d))

    def _all_heads(self, b: ir.IRBuilder, write: Callable[[list[ir.Value]], None]) -> None:
        """Emit what `write` emits for a few query heads at once, for all query heads of a key head."""
        together, rest = divmod(self.groups, self.at_once)
        if together:
            loop = Loop(b, LONG(0), LONG(together))
            first = b.mul(loop.index, LONG(self.at_once))
            write([b.add(first, LONG(number)) for number in range(self.at_once)])
            loop.close()
        if rest:
            write([LONG(together * self.at_once + number) for number in range(rest)])

    def _product(self, b: ir.IRBuilder, one: list[ir.Value], other: list[ir.Value]) -> ir.Value:
        """A vector whose lanes sum to the product of `one` and `other`. The products are added in several chains,
        because each addition waits for the one before in its chain.
        """
        chains = -(-len(one) // CHAIN)
        sums: list[ir.Value] = []
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            if number < chains:
                sums.append(b.fmul(left, right))
            else:
                sums[number % chains] = fma(b, left, right, sums[number % chains])
        return reduce(b.fadd, sums)

    def _blocks(self, b: ir.IRBuilder, count: ir.Value) -> ir.Value:
        return b.udiv(b.add(count, LONG(self.lanes - 1)), LONG(self.lanes))

    def _all(self, value: float) -> ir.Constant:
        return same(FLOAT, value, self.lanes)

    def _vectors(self, b: ir.IRBuilder, pointer: ir.Value, parts: Sequence[int] = ()) -> list[ir.Value]:
        """The vectors of the d floats at `pointer`; only those of `parts` if given."""
        return [load(b, float_at(b, pointer, part), self.floats) for part in parts or self.parts]

    def _put(self, b: ir.IRBuilder, vectors: Sequence[ir.Value], pointer: ir.Value, parts: Sequence[int] = ()) -> None:
        for part, vector in zip(parts or self.parts, vectors, strict=True):
            store(b, vector, float_at(b, pointer, part))
