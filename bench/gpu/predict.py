"""`python -m bench.gpu.predict`: what a step should take, by arithmetic from its launches and their tilings.

Each launch that waits for the one before takes LAUNCH_US beyond what memory takes: 1.6 to 2.2 microseconds were
measured for captured, overlapping kernels of a model of 1B on an H100 and an H200
(msaroufim/megakernels-vs-cuda-graphs). Memory takes the longer of two times: that of the bytes that come from it, and
that of the bytes that all programs together read through the L2 cache.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from bench.gpu.setting import RANK
from bench.gpu.shapes import SHAPES
from dlsp_engine.model.architecture import Architecture
from dlsp_kernels.matrix import Matrix
from dlsp_kernels.packed_rows import TILE_ROWS
from dlsp_kernels.tiling import tiling

LAUNCH_US = 1.9
L2_GB_S = 5500
MEMORY_GB_S = {"H200": 4300, "H100": 3000}  # of a copy
CONTEXT = 1024
ROWS = (1, 5, 25, 32, 128, 512)


@dataclass(frozen=True)
class Launch:
    """One kernel: how many programs it has, and the bytes that it takes from memory and through the L2 cache."""

    name: str
    programs: int
    memory: float
    cache: float

    def ms(self, memory_gb_s: float) -> float:
        return LAUNCH_US / 1e3 + max(self.memory / memory_gb_s, self.cache / L2_GB_S) / 1e6


def launches(shape: Architecture, rows: int) -> Iterator[Launch]:
    """Those of a step in bf16 to the logits of all rows, of one session behind CONTEXT; a step of more rows than one
    has canvases.
    """
    rank = RANK if rows > 1 else 0
    heads, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim

    def projection(name: str, outs: int, ins: int, parts: int = 1, written: float = 4, **how: Any) -> Iterator[Launch]:
        """`written`: bytes of each result, residual stream and next norm's input included."""
        weight = Matrix("dense", torch.empty(0, dtype=torch.bfloat16), None, outs, ins, torch.bfloat16)
        cut = tiling(rows, weight, **how)
        down, across = -(-rows // cut.m), -(-outs // cut.n)
        size, inner = 2.0 * outs * ins, 0 if name == "head" else parts * rank
        update = 2.0 * (inner * ins + rank * outs) if inner else 0.0
        read = down * across * 2.0 * ins * (cut.n + min(rows, cut.m)) + written * rows * outs
        read += down * 2.0 * inner * (ins + across * min(rows, cut.m))
        yield Launch(name, down * across * cut.splits, size + update, read)
        if cut.splits > 1:
            yield Launch(f"{name}: sum", rows * -(-outs // 256), 0, rows * outs * (4.0 * cut.splits + written))

    yield Launch("zeros, embed", rows, rows * shape.dim * 2, rows * shape.dim * 8)
    for _ in range(shape.layers):
        yield from projection("qkv", shape.qkv, shape.dim, 3, 2, divides=shape.head_dim)
        tiles, pages = rows // TILE_ROWS + 1, CONTEXT * keys * 4.0
        yield Launch("attention", tiles * shape.kv_heads * 16, pages, tiles * pages + 16 * rows * heads * 4.0)
        yield Launch("attention: join", rows * shape.heads, 0, rows * heads * (16 * 4.0 + 8))
        yield from projection("out", shape.dim, heads, 1, 10)
        yield from projection("gate_up", 2 * shape.ff, shape.dim, 2, 1)
        yield from projection("down", shape.dim, shape.ff, 1, 10, splits=True)
    yield Launch("norm", rows, 0, rows * shape.dim * 6)
    yield from projection("head", shape.vocab, shape.dim)


def main() -> None:
    for name in ("0.5b", "1.5b"):
        gpus = [f"{kind} {word}" for kind in MEMORY_GB_S for word in ("floor ms", "step ms", "x floor")]
        table = Table("rows", "launches", "memory GB", "L2 GB", *gpus, title=f"{name}, bf16, behind {CONTEXT} tokens")
        for rows in ROWS:
            found = [*launches(SHAPES[name], rows)]
            memory, cache = (sum(getattr(one, of) for one in found) for of in ("memory", "cache"))
            cells = [str(rows), str(len(found)), f"{memory / 1e9:.2f}", f"{cache / 1e9:.2f}"]
            for rate in MEMORY_GB_S.values():
                floor, ms = memory / rate / 1e6, sum(one.ms(rate) for one in found)
                cells += [f"{floor:.2f}", f"{ms:.2f}", f"{ms / floor:.1f}"]
            table.add_row(*cells)
        Console(width=150).print(table)


if __name__ == "__main__":
    main()
