"""Writes the attention kernel in LLVM IR, for given vector instructions and sizes of heads.

A work item is a few rows and one key head, with all query heads that share it. A row sees the first `visible` keys,
then those of its own canvas. The kernel treats both as one sequence of keys. So a row's sums are added in the same
order, wherever its own keys are and whatever else is in the step.

The keys are taken in tiles of TILE. After each tile, sums and results are those of a softmax over the keys so far, all
relative to the highest score so far. So no scores are kept but those of one tile.

Clean rows that follow each other in a prompt are attended together: they all use a tile while it is in the processor's
caches. Each row's sums are added in the same order as if it were alone, because for a row the tiles begin at its key 0
in either case, and a masked key adds exactly 0.

As many keys are scored at once as a vector has lanes: each key gives a vector of products, and these vectors are folded
into one vector of sums. At the end of the sequence, where fewer keys are left, the kernel reads on and masks the
surplus. It never reads beyond the cache's memory, because the values come after all keys.

If the cache holds integers (`KvFormat`), the keys and values of all rows are quantised before any row attends. So a row
reads every key and value, its own too, as the cache holds it. The integers are converted to floats tile by tile, for
all queries of the work item.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from math import log, sqrt
from typing import NamedTuple

from llvmlite import ir

from dlsp_kernels.canvas_attention.writing import quantise, unpacking
from dlsp_kernels.kv_format import KvFormat
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

# The kernel's arguments. q, k, v as in `canvas_attention`, with `q_row`, `k_row`, `v_row` floats from one row to the
# next; out [rows, heads * d]; scratch [workers, `Writer.scratch_floats`]; places int64 [rows, 10], a `Place` per row.
POINTERS, NUMBERS = "q k v out scratch places", "q_row k_row v_row layer"


class Place(NamedTuple):
    """Where a row's keys are, and which of them it sees. Keys are numbered from the session's position 0.

    - `keys`: address of the session's keys of layer 0
    - `scales`: address of the scales of these keys. They have the same layout, in which each row of a head has 2 bytes.
      0 if the cache holds floats.
    - `layer_bytes`, `values_away`, `head_bytes`: bytes from there to the next layer, to the values, to the next head
    - `place`: number of the row's own key
    - `visible`: the row sees the keys 0 … visible - 1
    - `first`, `last`: it also sees the keys first … last - 1, which are its canvas, or only itself for an alternative
    - `together`: this row and the next `together` - 1 rows, at most TOGETHER, are attended together. They must be of
      one session, each must see one more key than the row before, and none may have a canvas. 0 if an earlier row's
      number counts this row.
    """

    keys: int
    scales: int
    layer_bytes: int
    values_away: int
    head_bytes: int
    place: int
    visible: int
    first: int
    last: int
    together: int


CHAIN = 8  # additions of a dot product in one chain, at most: each has to wait for the one before
TILE = 128  # keys: a multiple of every number of lanes
TOGETHER = 8  # rows that are attended together, at most


class Writer:
    """Writes the kernel for heads of d floats.

    A worker's scratch memory holds, for each query, the scores of a tile, the highest score so far (in each lane), the
    sums of exponentials (lane by lane) and the result: `query_floats`. If the cache holds integers, a vector's lanes of
    keys with their scales and a tile of values with their scales lie behind.
    """

    def __init__(self, kind: Instructions, d: int, heads: int, kv_heads: int, kv: KvFormat) -> None:
        self.kv, self.row_bytes = kv, d * kv.bits // 8
        self.lanes, self.d, self.kv_heads, self.groups = kind.lanes, d, kv_heads, heads // kv_heads
        self.module = ir.Module()
        self.floats = floats(kind.lanes)
        self.parts = range(0, d, kind.lanes)
        self.sums_at_once = 3 * kind.registers // 4
        # Query heads at once, as many as the registers hold.
        self.scored_at_once = 2 if 4 * len(self.parts) <= kind.registers else 1
        self.weighed_at_once = min(max(1, self.sums_at_once // len(self.parts)), -(-self.groups // 2))
        self.query_floats = TILE + 2 * self.lanes + d
        self.queries_floats = TOGETHER * self.groups * self.query_floats
        self.scratch_floats = self.queries_floats + ((self.lanes + TILE) * (d + 1) if kv.quantised else 0)

    def source(self) -> str:
        """The LLVM IR of two functions: `before` writes keys and values to the caches, `run` attends."""
        self._unpack = unpacking(self.module, self.kv, self.lanes, self.d, self._place) if self.kv.quantised else None
        self._put_first()
        self._run(self._rows(self._begin(), self._score(), self._exponentials(), self._weigh(), self._end()))
        return str(self.module)

    def _begin(self) -> ir.Function:
        """A function that sets the highest scores to -inf, and the sums and results to 0."""
        b, (scratch, queries) = inner(self.module, "begin", 1, 1)
        query = Loop(b, LONG(0), queries)
        _, highest, sums, result = self._scratch(b, scratch, query.index)
        store(b, self._all(float("-inf")), highest)
        store(b, self.floats(None), sums)
        self._put(b, [self.floats(None)] * len(self.parts), result)
        query.close()
        b.ret_void()
        return b.function

    def _score(self) -> ir.Function:
        """A function that writes the scores of a tile's keys, from number `begin` on, for the queries of all rows. Row
        number r sees `count` + r keys; scores of other keys are -inf.
        """
        b, given = inner(self.module, "score", 5, 7)
        q, keys, key_scales, scratch, unpacked, q_row, rows, visible, away, count, begin, blocks = given
        block = Loop(b, LONG(0), blocks)
        of_tile = b.mul(block.index, LONG(self.lanes))
        key = b.add(begin, of_tile)
        places = [self._place(b, b.add(key, LONG(lane)), visible, away) for lane in range(self.lanes)]
        if self._unpack:
            scales = float_at(b, unpacked, self.lanes * self.d)
            b.call(self._unpack, [keys, key_scales, unpacked, scales, visible, away, key, LONG(self.lanes)])
            keys, places = unpacked, [LONG(lane) for lane in range(self.lanes)]
        row = Loop(b, LONG(0), rows)
        seen = real(b, b.sub(b.add(count, row.index), key), self.lanes)
        row_queries, first = float_at(b, q, b.mul(row.index, q_row)), b.mul(row.index, LONG(self.groups))

        def score(heads: list[ir.Value]) -> None:
            queries = [self._vectors(b, float_at(b, row_queries, b.mul(head, LONG(self.d)))) for head in heads]

            def products(lane: int) -> list[ir.Value]:
                mine = self._vectors(b, float_at(b, keys, b.mul(places[lane], LONG(self.d))))
                return [self._product(b, query, mine) for query in queries]

            for head, found in zip(heads, fold(b, b.fadd, products, self.lanes), strict=True):
                scores, *_ = self._scratch(b, scratch, b.add(first, head))
                if self._unpack:
                    found = b.fmul(found, load(b, scales, self.floats))
                store(b, b.select(seen, found, self._all(float("-inf"))), float_at(b, scores, of_tile))

        self._all_heads(b, self.scored_at_once, score)
        row.close()
        block.close()
        b.ret_void()
        return b.function

    def _exponentials(self) -> ir.Function:
        """A function that turns the scores of a tile into exponentials relative to the highest score so far, adds these
        to the sums, and multiplies them by the scales of the values. Sums and results so far become relative to that
        score too.
        """
        b, (scratch, value_scales, queries, blocks) = inner(self.module, "exponentials", 2, 2)
        query = Loop(b, LONG(0), queries)
        scores, top, sums, result = self._scratch(b, scratch, query.index)

        def vector(loop: Loop) -> ir.Value:
            return float_at(b, scores, b.mul(loop.index, LONG(self.lanes)))

        before = load(b, top, self.floats)
        loop = Loop(b, LONG(0), blocks, [before])
        highest = intrinsic(b, "maxnum", loop.values[0], load(b, vector(loop), self.floats))
        loop.close([highest])
        highest = spread(b, largest(b, highest), self.lanes)
        store(b, highest, top)

        factor = self._exponential(b, b.fsub(before, highest))
        loop = Loop(b, LONG(0), blocks, [b.fmul(load(b, sums, self.floats), factor)])
        weights = self._exponential(b, b.fsub(load(b, vector(loop), self.floats), highest))
        more = b.fadd(loop.values[0], weights)
        if self.kv.quantised:
            here = float_at(b, value_scales, b.mul(loop.index, LONG(self.lanes)))
            weights = b.fmul(weights, load(b, here, self.floats))
        store(b, weights, vector(loop))
        loop.close([more])
        store(b, more, sums)
        self._put(b, [b.fmul(part, factor) for part in self._vectors(b, result)], result)
        query.close()
        b.ret_void()
        return b.function

    def _exponential(self, b: ir.IRBuilder, less: ir.Value) -> ir.Value:
        """e to the power less / sqrt(d), for less <= 0; 0 if that is below 2 to the power -126."""
        power, lowest = b.fmul(less, self._all(1 / (log(2) * sqrt(self.d)))), self._all(-126.0)
        found = power_of_two(b, intrinsic(b, "maxnum", power, lowest))
        return b.select(b.fcmp_ordered("<", power, lowest), self._all(0.0), found)

    def _weigh(self) -> ir.Function:
        """A function that adds a tile's first `count` values, multiplied by the weights, to the results of one row's
        queries.
        """
        b, (scratch, values, visible, away, begin, count) = inner(self.module, "weigh", 2, 4)

        def weigh(heads: list[ir.Value]) -> None:
            mine = [self._scratch(b, scratch, head) for head in heads]
            turns = -(-len(heads) * len(self.parts) // self.sums_at_once)
            for turn in range(turns):
                weigh_parts([(weights, result) for weights, _, _, result in mine], self.parts[turn::turns])

        def weigh_parts(mine: list[tuple[ir.Value, ir.Value]], parts: Sequence[int]) -> None:
            key = Loop(b, LONG(0), count, [vector for _, result in mine for vector in self._vectors(b, result, parts)])
            place = key.index if self._unpack else self._place(b, b.add(begin, key.index), visible, away)
            here = float_at(b, values, b.mul(place, LONG(self.d)))
            value, before = self._vectors(b, here, parts), iter(key.values)
            factors = [spread(b, load(b, float_at(b, weights, key.index), FLOAT), self.lanes) for weights, _ in mine]
            sums = [fma(b, factor, part, next(before)) for factor in factors for part in value]
            key.close(sums)
            for number, (_, result) in enumerate(mine):
                self._put(b, sums[number * len(parts) :][: len(parts)], result, parts)

        self._all_heads(b, self.weighed_at_once, weigh)
        b.ret_void()
        return b.function

    def _end(self) -> ir.Function:
        """A function that writes one row's out [groups, d]: the results divided by the sums of exponentials."""
        b, (scratch, out) = inner(self.module, "end", 2, 0)
        head = Loop(b, LONG(0), LONG(self.groups))
        _, _, sums, result = self._scratch(b, scratch, head.index)
        by_sum = spread(b, b.fdiv(FLOAT(1), total(b, load(b, sums, self.floats))), self.lanes)
        divided = [b.fmul(one, by_sum) for one in self._vectors(b, result)]
        self._put(b, divided, float_at(b, out, b.mul(head.index, LONG(self.d))))
        head.close()
        b.ret_void()
        return b.function

    def _rows(
        self, begin: ir.Function, score: ir.Function, exponentials: ir.Function, weigh: ir.Function, end: ir.Function
    ) -> ir.Function:
        """A function for one work item: out from q and one head's keys and values. `visible`, `first` and `last` are
        those of the first row.
        """
        b, given = inner(self.module, "rows", 7, 5)
        q, keys, key_scales, values, value_scales, scratch, out, q_row, rows, visible, first, last = given
        later = b.sub(rows, LONG(1))
        away, count = b.sub(first, visible), b.add(visible, b.sub(last, first))
        visible, most, queries = b.add(visible, later), b.add(count, later), b.mul(rows, LONG(self.groups))

        def of_row(row: Loop) -> ir.Value:
            return float_at(b, scratch, b.mul(row.index, LONG(self.groups * self.query_floats)))

        unpacked = float_at(b, scratch, self.queries_floats)
        unpacked_values = float_at(b, unpacked, self.lanes * (self.d + 1))
        unpacked_scales = float_at(b, unpacked_values, TILE * self.d)
        b.call(begin, [scratch, queries])
        tile = Loop(b, LONG(0), b.udiv(b.add(most, LONG(TILE - 1)), LONG(TILE)))
        first_key = b.mul(tile.index, LONG(TILE))
        in_tile = self._least(b, LONG(TILE), b.sub(most, first_key))
        blocks = self._blocks(b, in_tile)
        if self._unpack:
            to = [unpacked_values, unpacked_scales]
            b.call(self._unpack, [values, value_scales, *to, visible, away, first_key, in_tile])
            values = unpacked_values
        scored = [q, keys, key_scales, scratch, unpacked, q_row, rows, visible, away, count, first_key, blocks]
        b.call(score, scored)
        b.call(exponentials, [scratch, unpacked_scales, queries, blocks])
        row = Loop(b, LONG(0), rows)
        seen = b.sub(b.add(count, row.index), first_key)
        with b.if_then(b.icmp_signed("<", LONG(0), seen)):
            b.call(weigh, [of_row(row), values, visible, away, first_key, self._least(b, LONG(TILE), seen)])
        row.close()
        tile.close()
        row = Loop(b, LONG(0), rows)
        width = LONG(self.kv_heads * self.groups * self.d)
        b.call(end, [of_row(row), float_at(b, out, b.mul(row.index, width))])
        row.close()
        b.ret_void()
        return b.function

    def _put_first(self) -> None:
        """Write `before`, which stores the keys and values of all rows in the caches. It runs for all items before any
        row attends.
        """
        entry = Entry.of(self.module, POINTERS, NUMBERS, "before")
        b, (_, k, v, _, _, places, _, k_row, v_row, layer) = entry.b, entry.given
        with entry.each() as item:
            of_row, head, (keys, key_scales, values, value_scales), (place, *_) = self._of(b, places, layer, item)
            for given, stride, kept, scales in ((k, k_row, keys, key_scales), (v, v_row, values, value_scales)):
                new = self._vectors(b, float_at(b, given, b.add(b.mul(of_row, stride), b.mul(head, LONG(self.d)))))
                own = at(b, kept, b.mul(place, LONG(self.row_bytes)))
                if self.kv.quantised:
                    quantise(b, self.kv, self.lanes, new, own, at(b, scales, b.mul(place, LONG(2))))
                else:
                    self._put(b, new, own)
        b.ret_void()

    def _run(self, rows: ir.Function) -> None:
        entry = Entry.of(self.module, POINTERS, NUMBERS)
        b, (q, _, _, out, scratch, places, q_row, _, _, layer) = entry.b, entry.given
        mine = float_at(b, scratch, b.mul(entry.worker, LONG(self.scratch_floats)))
        with entry.each() as item:
            of_row, head, memory, (_, *seen, together) = self._of(b, places, layer, item)
            with b.if_then(b.icmp_unsigned("<", LONG(0), together)):
                first_query = b.mul(head, LONG(self.groups * self.d))
                query = float_at(b, q, b.add(b.mul(of_row, q_row), first_query))
                width = LONG(self.kv_heads * self.groups * self.d)
                result = float_at(b, out, b.add(b.mul(of_row, width), first_query))
                b.call(rows, [query, *memory, mine, result, q_row, together, *seen])
        b.ret_void()

    def _of(
        self, b: ir.IRBuilder, places: ir.Value, layer: ir.Value, item: ir.Value
    ) -> tuple[ir.Value, ir.Value, list[ir.Value], list[ir.Value]]:
        """An item's row, its key head, the addresses of that head's keys, their scales, values and their scales, and
        the rest of the row's `Place`. If the cache holds floats, the addresses of scales are those of keys and values.
        """
        of_row, head = b.udiv(item, LONG(self.kv_heads)), b.urem(item, LONG(self.kv_heads))
        place = at(b, places, b.mul(of_row, LONG(8 * len(Place._fields))))
        numbers = [load(b, at(b, place, 8 * number), LONG) for number in range(2, len(Place._fields))]
        layer_bytes, values_away, head_bytes, *rest = numbers
        away = b.add(b.mul(layer, layer_bytes), b.mul(head, head_bytes))
        memory = [at(b, load(b, place, POINTER), away), at(b, load(b, place, POINTER), b.add(away, values_away))]
        scales = memory
        if self.kv.quantised:
            first = load(b, at(b, place, 8), POINTER)
            rows = [b.udiv(each, LONG(self.row_bytes)) for each in (away, b.add(away, values_away))]
            scales = [at(b, first, b.mul(each, LONG(2))) for each in rows]
        return of_row, head, [memory[0], scales[0], memory[1], scales[1]], rest

    def _place(self, b: ir.IRBuilder, key: ir.Value, visible: ir.Value, away: ir.Value) -> ir.Value:
        """Where a key of the sequence that a row sees is in the cache. Keys from `visible` on are `away` keys
        further.
        """
        return b.select(b.icmp_unsigned("<", key, visible), key, b.add(key, away))

    def _scratch(self, b: ir.IRBuilder, scratch: ir.Value, query: ir.Value) -> list[ir.Value]:
        """The addresses of a query's scores, highest score, sums and result; see `query_floats`."""
        own = float_at(b, scratch, b.mul(query, LONG(self.query_floats)))
        return [float_at(b, own, away) for away in (0, TILE, TILE + self.lanes, TILE + 2 * self.lanes)]

    def _all_heads(self, b: ir.IRBuilder, at_once: int, write: Callable[[list[ir.Value]], None]) -> None:
        """Emit what `write` emits for `at_once` query heads, for all query heads of a key head."""
        together, rest = divmod(self.groups, at_once)
        if together:
            loop = Loop(b, LONG(0), LONG(together))
            first = b.mul(loop.index, LONG(at_once))
            write([b.add(first, LONG(number)) for number in range(at_once)])
            loop.close()
        if rest:
            write([LONG(together * at_once + number) for number in range(rest)])

    def _least(self, b: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
        return b.select(b.icmp_unsigned("<", one, other), one, other)

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
