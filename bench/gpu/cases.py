"""Every kernel on fresh random inputs, its outputs poisoned, against its reference in float64.

The tests run the small cases in Triton's interpreter; `python -m bench.gpu` runs the small and the real ones on a GPU.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from typing import Any

import torch
from torch import Tensor

from dlsp_kernels.matrix import FORMATS, LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.packed_rows import NOWHERE, PAGE, TILE_ROWS, PackedRows
from dlsp_kernels.rope.reference import rope_table

Call = Callable[..., Any]

# Of ‖out - reference‖ / ‖reference‖, by the type that products are taken in.
TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 1e-2}


@dataclass(frozen=True)
class Case:
    """`outputs(call, wide)` gives what `call` made of copies of the inputs, in float64 if `wide`."""

    op: str
    name: str
    tolerance: float
    outputs: Callable[[Call, bool], dict[str, Tensor]]

    def check(self) -> dict[str, float]:
        """The error of each output; integers must be equal (error 0 or inf)."""
        fused = getattr(import_module(f"dlsp_kernels.{self.op}.triton"), self.op)
        reference = getattr(import_module(f"dlsp_kernels.{self.op}.reference"), self.op)
        expected = self.outputs(reference, True)
        with poisoned():
            got = self.outputs(fused, False)
        return {name: error(got[name], expected[name]) for name in expected}


def error(got: Tensor, expected: Tensor) -> float:
    if not expected.is_floating_point():
        return 0.0 if torch.equal(got.long(), expected.long()) else float("inf")
    difference = torch.linalg.vector_norm(got.double() - expected.double())
    relative = float(difference / torch.linalg.vector_norm(expected.double()).clamp(min=1e-30))
    return relative if relative == relative else float("inf")  # NaN never passes


@contextmanager
def poisoned() -> Iterator[None]:
    """New tensors are NaN, or the largest integer, until something is written to them."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


def cases(device: str, real: bool, op: str) -> Iterator[Case]:
    """Of one op: small and odd shapes in every dtype and layout, or those of a step of the 0.5B model."""
    return (case for case in _of(op, Maker(device, real), real) if case.op == op)


def _of(op: str, make: "Maker", real: bool) -> Iterator[Case]:
    """With others' among them: only those that take much memory are not made for nothing."""
    for dtype in (torch.float32, torch.bfloat16):
        if op in ("gated_linear", "gated_swiglu"):
            yield from make.linears(dtype, real)
        if op == "paged_attention":
            yield from make.attentions(dtype, real)
        if op == "qkv_rope_write":
            yield from make.projections(dtype, real)
        if op == "embed":
            yield make.embed(dtype, *((25, 151_936, 896) if real else (5, 19, 40)))
        if op == "row_norm":
            for centred in (True, False):
                yield make.row_norm(dtype, *((25, 3072) if real else (5, 40)), centred)


class Maker:
    """Makes cases whose inputs are drawn when the case is made."""

    def __init__(self, device: str, real: bool) -> None:
        self.device = device
        self.real = real

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.randn(shape, device=self.device).to(dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high, shape, device=self.device, dtype=torch.int32)

    def normed(self, rows: int, dim: int, dtype: torch.dtype) -> Normed:
        made = Normed.empty(rows, self.normal(dim), dtype)
        made.write(self.normal(rows, dim) * 3)
        return made

    def linears(self, dtype: torch.dtype, real: bool) -> Iterator[Case]:
        shapes = (
            [(1, 1152, 896), (25, 896, 4864), (128, 9728, 896)] if real else [(1, 32, 64), (5, 48, 192), (17, 80, 128)]
        )
        if real and dtype == torch.bfloat16:
            shapes += [(320, 896, 896), (512, 896, 4864)]  # the widest tiles
        for rows, outs, ins in shapes:
            # Only the invariants take float32, with the weights as they are.
            for format in ("dense",) if real and dtype == torch.float32 else FORMATS:
                yield self.linear(rows, outs, ins, format, dtype, norm=True)
                yield self.linear(rows, outs, ins, format, dtype, residual=True)
                yield self.swiglu(rows, outs // 2, ins, format, dtype)
        if not real:
            yield self.linear(3, 37, 50, "dense", dtype, norm=True)
            yield self.linear(3, 37, 50, "int8", dtype, updated=False)
            yield self.linear(4, 33, 4224, "dense", dtype, residual=True)  # inputs are split
            yield self.linear(4, 33, 4224, "int8", dtype, residual=True, bias=True)
            yield self.linear(5, 48, 64, "dense", dtype, residual=True, bias=True)
            yield self.linear(5, 300, 64, "dense", dtype, bias=True, gelu=True)
            yield self.swiglu(3, 19, 50, "fp8", dtype)

    def update(self, outs: int, ins: int, dtype: torch.dtype, ends: tuple[int, ...] = ()) -> LowRankUpdate:
        ends = ends or (outs,)
        rank = 32 if self.real else 12 if len(ends) > 1 else 36  # the last two are filled up to powers of two
        a = self.normal(len(ends) * rank, ins, dtype=dtype) * ins**-0.5
        b, shared = self.normal(outs, rank, dtype=dtype) * rank**-0.5, 6 * int(self.integers(0, 3, 1))
        return LowRankUpdate.of(a, b, ends, shared)

    def linear(
        self,
        rows: int,
        outs: int,
        ins: int,
        format: str,
        dtype: torch.dtype,
        norm: bool = False,
        residual: bool = False,
        updated: bool = True,
        bias: bool = False,
        gelu: bool = False,
    ) -> Case:
        x = self.normed(rows, ins, dtype) if norm else self.normal(rows, ins, dtype=dtype) * 3
        weight = Matrix.of(self.normal(outs, ins) * ins**-0.5, format, dtype)
        given: dict[str, Any] = {"canvas": self.integers(-1, 3, rows)}
        given |= {"bias": self.normal(outs, dtype=dtype) if bias else None, "gelu": gelu}
        update = self.update(outs, ins, dtype) if updated else None
        stream, next_norm = self.normal(rows, outs) if residual else None, self.normal(outs)

        def outputs(call: Call, wide: bool) -> dict[str, Tensor]:
            own = stream.clone().to(torch.float64 if wide else torch.float32) if stream is not None else None
            into = Normed.empty(rows, next_norm, torch.float64 if wide else dtype) if residual else None
            y = call(widened(x, wide), weight, eps=1e-6, update=update, residual=own, into=into, **given)
            return {"y": y} | ({"next": into.values(1e-6)} if into else {})

        words = {"norm": norm, "residual": residual, "update": updated, "bias": bias, "gelu": gelu}
        extras = "".join(f", {word}" for word, on in words.items() if on)
        name = f"{rows}x{ins} to {outs}, {format}, {_short(dtype)}{extras}"
        return Case("gated_linear", name, TOLERANCE[dtype], outputs)

    def swiglu(self, rows: int, ff: int, ins: int, format: str, dtype: torch.dtype) -> Case:
        x, canvas = self.normed(rows, ins, dtype), self.integers(-1, 2, rows)
        weight = Matrix.of(self.normal(2 * ff, ins) * ins**-0.5, format, dtype)
        low = [self.update(ff, ins, dtype) for _ in range(2)]
        update = LowRankUpdate(torch.cat([u.a for u in low]), torch.cat([u.b for u in low]), (ff, 2 * ff))

        def outputs(call: Call, wide: bool) -> dict[str, Tensor]:
            return {"y": call(widened(x, wide), weight, 1e-6, update, canvas)}

        name = f"{rows}x{ins} to 2x{ff}, {format}, {_short(dtype)}"
        return Case("gated_swiglu", name, TOLERANCE[dtype] * 2, outputs)

    def attentions(self, dtype: torch.dtype, real: bool) -> Iterator[Case]:
        if real:
            yield self.attention([(1024, 5, 4)], 14, 2, 64, dtype)
            yield self.attention([(1024, 1, 0)], 14, 2, 64, dtype)
            yield self.attention([(4000, 128, 0), (0, 64, 0), (130, 5, 4)], 12, 2, 128, dtype)
            yield self.attention([(1000, 511, 0)], 14, 2, 64, dtype)
            yield self.attention([(700 + 9 * i, 2, 1) for i in range(64)], 14, 2, 64, dtype)
            yield self.attention([(20_000, 5, 4)], 14, 2, 64, dtype, long=True)
            return
        yield self.attention([(0, 1, 0)], 2, 2, 8, dtype)
        yield self.attention([(70, 5, 4)], 14, 2, 64, dtype, splits=3)
        yield self.attention([(63, 3, 0), (0, 9, 2), (128, 1, 3)], 12, 2, 24, dtype, splits=2)
        yield self.attention([(10, 2, 1), (64, 2, 1)], 4, 4, 16, dtype, splits=5)
        yield self.attention([(64 * PAGE + 3, 2, 1)], 2, 2, 8, dtype, long=True)

    def attention(
        self,
        sessions: list[tuple[int, int, int]],
        heads: int,
        kv_heads: int,
        d: int,
        dtype: torch.dtype,
        splits: int | None = None,
        long: bool = False,
    ) -> Case:
        """sessions: cached positions, clean rows, masks of a canvas after each of the first two clean rows. Each that
        has masks has an alternative, too.
        """
        rows = replace(self.rows(sessions), long=long)
        pages = int(rows.table.max()) + 1
        q = self.normal(len(rows), heads, d, dtype=dtype)
        keys, values = (self.normal(pages, kv_heads, PAGE, d, dtype=dtype) for _ in range(2))
        for session, (length, _, _) in enumerate(sessions):  # nobody may read behind a session's rows
            places = length + int(rows.count[session])
            page = rows.table[session, places // PAGE]
            keys[page, :, places % PAGE :] = torch.nan
            values[page, :, places % PAGE :] = torch.nan

        def outputs(call: Call, wide: bool) -> dict[str, Tensor]:
            more = {} if wide or splits is None else {"splits": splits}
            return {"y": call(widened(q, wide), widened(keys, wide), widened(values, wide), rows, **more)}

        described = sessions if len(sessions) < 4 else f"{len(sessions)} sessions"
        divided = f"splits {splits or 'auto'}{', long' if long else ''}"
        name = f"{described}, {heads}/{kv_heads} heads of {d}, {_short(dtype)}, {divided}"
        return Case("paged_attention", name, TOLERANCE[dtype], outputs)

    def rows(self, sessions: list[tuple[int, int, int]]) -> PackedRows:
        """With a row that is none behind each session's, pages in no order, and a tile that is none."""
        numbers: list[tuple[int, int, int]] = []
        firsts, counts = [], []
        for length, clean, masks in sessions:
            firsts.append(len(numbers))
            own = [(length + i, length + i + 1, 0) for i in range(clean)]
            for number, after in enumerate(range(min(2, clean)), 1):
                own += [(length + after + 1 + i, length + after + 1, number) for i in range(masks)]
            if masks:
                own += [(length + clean, length + clean, -3), (length + clean + 1, length + clean, 3)]
            numbers += [*own, (NOWHERE, 0, 0)]
            counts.append(len(own) + 1)
        lengths = [length for length, _, _ in sessions]
        need = [-(-(length + count + 1) // PAGE) for length, count in zip(lengths, counts, strict=True)]
        shuffled = (1 + torch.randperm(sum(need))).tolist()
        table = [[shuffled.pop() for _ in range(n)] + [0] * (max(need) - n) for n in need]
        slots = [
            table[s][(lengths[s] + i) // PAGE] * PAGE + (lengths[s] + i) % PAGE
            for s in range(len(sessions))
            for i in range(counts[s])
        ]
        tiles = [(s, firsts[s] + i) for s in range(len(sessions)) for i in range(0, counts[s], TILE_ROWS)]
        position, visible, canvas = zip(*numbers, strict=True)
        token = [-1 if c else 7 for c in canvas]
        made = (token, position, visible, canvas, slots, lengths, firsts, counts, table, [*tiles, (-1, 0)])
        return PackedRows(*(torch.tensor(field, dtype=torch.int32, device=self.device) for field in made))

    def projections(self, dtype: torch.dtype, real: bool) -> Iterator[Case]:
        """In every format; heads of which a tile takes a part, all of it, and more than there is."""
        wide = [[(4000, 120, 0), (130, 5, 4)], [(1000, 0, 0)], [(1000, 511, 0)]]
        lengths = wide if real else [[(3, 2, 1), (63, 3, 2)]]
        for sessions, format in product(lengths, FORMATS):
            if not (real and dtype == torch.float32 and format != "dense"):  # as `linears`
                yield self.projection(sessions, 14, 2, 64, 896 if real else 64, format, dtype)
        yield self.projection([(1000, 5, 4)], 12, 2, 128, 1536 if real else 50, "dense", dtype)
        yield self.projection([(1000, 5, 4)], 4, 4, 24, 40, "dense", dtype)
        yield self.projection([(63, 2, 1)], 4, 2, 8, 32, "dense", dtype, updated=False)
        yield self.projection([(63, 2, 1)], 4, 2, 8, 32, "dense", dtype, norm=False)
        for d in (8, 80, 128):
            yield self.projection([(63, 2, 1)], 4, 2, d, 32, "int8" if d == 80 else "dense", dtype, head_norm=True)

    def projection(
        self,
        sessions: list[tuple[int, int, int]],
        heads: int,
        kv_heads: int,
        d: int,
        ins: int,
        format: str,
        dtype: torch.dtype,
        updated: bool = True,
        norm: bool = True,
        head_norm: bool = False,
    ) -> Case:
        rows, ends = self.rows(sessions), tuple(d * end for end in (heads, heads + kv_heads, heads + 2 * kv_heads))
        outs = ends[-1]
        x = self.normed(len(rows), ins, dtype) if norm else self.normal(len(rows), ins, dtype=dtype) * 3
        bias = self.normal(outs, dtype=dtype)
        heads_norm = self.normal(heads + kv_heads, d) if head_norm else None
        weight = Matrix.of(self.normal(outs, ins) * ins**-0.5, format, dtype)
        update = self.update(outs, ins, dtype, ends) if updated else None
        cos, sin = (part[:, 0].to(self.device) for part in rope_table(torch.arange(8192), d, 1e6))
        shape = (int(rows.table.max()) + 1, kv_heads, PAGE, d)

        def outputs(call: Call, wide: bool) -> dict[str, Tensor]:
            keys, values = (
                torch.zeros(shape, dtype=torch.float64 if wide else dtype, device=self.device) for _ in "kv"
            )
            q = call(widened(x, wide), weight, bias, 1e-6, cos, sin, keys, values, rows, update, heads_norm)
            return {"q": q, "keys": keys, "values": values}

        words = {"update": updated, "no norm": not norm, "norms of heads": head_norm}
        extras = "".join(f", {word}" for word, on in words.items() if on)
        name = f"{sessions}, {heads}/{kv_heads} of {d}, {format}, {_short(dtype)}{extras}"
        return Case("qkv_rope_write", name, TOLERANCE[dtype], outputs)

    def embed(self, dtype: torch.dtype, rows: int, vocab: int, dim: int) -> Case:
        token, embedding = self.integers(-1, vocab, rows), self.normal(vocab, dim, dtype=dtype)
        mask, norm = self.normal(dim, dtype=dtype), self.normal(dim)

        def outputs(call: Call, wide: bool) -> dict[str, Tensor]:
            into = Normed.empty(rows, norm, torch.float64 if wide else dtype)
            x = call(token, widened(embedding, wide), widened(mask, wide), into)
            return {"x": x, "next": into.values(1e-6)}

        return Case("embed", f"{rows} rows of {dim}, {_short(dtype)}", TOLERANCE[dtype], outputs)

    def row_norm(self, dtype: torch.dtype, rows: int, dim: int, centred: bool) -> Case:
        x, weight = self.normal(rows, dim) * 3 + 1, self.normal(dim)
        bias = self.normal(dim) if centred else None

        def outputs(call: Call, wide: bool) -> dict[str, Tensor]:
            return {"y": call(widened(x, wide), weight, bias, 1e-5, dtype)}

        name = f"{rows} rows of {dim}, {'centred, ' if centred else ''}{_short(dtype)}"
        return Case("row_norm", name, TOLERANCE[dtype], outputs)


def widened(x: Any, wide: bool) -> Any:
    """A copy of a tensor or a `Normed`."""
    if isinstance(x, Normed):
        return Normed(x.norm, widened(x.scaled, wide), x.squares.clone())
    return x.double() if wide else x.clone()


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
