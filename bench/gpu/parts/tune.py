"""Which cut of each matrix is fastest, beside what `tiling` guesses: the launches of a step, updates included."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from bench.gpu.setting import RANK, Sample, Setting
from bench.gpu.shapes import SHAPES
from dlsp_kernels.matrix import LowRankUpdate, Matrix
from dlsp_kernels.normed import Normed
from dlsp_kernels.ops import is_devices
from dlsp_kernels.packed_rows import PAGE, PackedRows
from dlsp_kernels.tiling import Tiling, tiling

# Bytes of copies of a matrix, read in turn: several times the largest cache.
READ = 300e6

Launch = Callable[[Matrix, Tiling], object]


def run(setting: Setting, name: str) -> Iterator[Sample]:
    """`name` is qkv, out, gate_up or down."""
    for rows in (1, 25, 128, 512):
        weight, launch, guess = made(setting, name, rows)
        count = 1 if setting.rehearse else int(READ / weight.data.nbytes) + 1
        copies = [replace(weight, data=weight.data.clone()) for _ in range(count)]
        graphs: dict[Tiling, Callable[[], object]] = {}
        shares = (1, 4, 8) if name in ("out", "down") else (1,)
        for cut in [guess, *_others(guess, weight.outs, shares, setting.rehearse)]:
            try:
                graphs[cut] = _captured(setting, copies, launch, cut)
            except Exception as error:  # too much shared memory, say
                if is_devices(error):
                    raise
        # All is compiled by now: nothing makes the device wait between two measurements.
        times = {cut: 1e3 * setting.median_ms(graph, 20) / count for cut, graph in graphs.items()}
        best = min(times, key=lambda cut: times[cut])
        sample = {"name": f"{name}, {rows} rows", "guess": str(guess), "guess_us": times.get(guess), "rows": rows}
        sample["entry"] = [weight.outs, weight.ins, weight.format, *vars(best).values()]
        yield sample | {"best": str(best), "best_us": times[best], "tried": len(times)}


def made(setting: Setting, name: str, rows: int) -> tuple[Matrix, Launch, Tiling]:
    """The matrix, its launch as in a step, with canvas rows where there is more than one row; and the guess."""
    from dlsp_kernels.gated_linear.triton import gated_linear
    from dlsp_kernels.gated_swiglu.triton import gated_swiglu
    from dlsp_kernels.qkv_rope_write.triton import qkv_rope_write

    shape, device = SHAPES["tiny" if setting.rehearse else "0.5b"], setting.device
    attended = shape.heads * shape.head_dim
    keys = (shape.qkv - attended) // 2
    outs, ins, ends = {
        "qkv": (shape.qkv, shape.dim, (attended, attended + keys, shape.qkv)),
        "out": (shape.dim, attended, (shape.dim,)),
        "gate_up": (2 * shape.ff, shape.dim, (shape.ff, 2 * shape.ff)),
        "down": (shape.dim, shape.ff, (shape.dim,)),
    }[name]

    def normal(*size: int) -> torch.Tensor:
        return torch.randn(size, device=device).bfloat16()

    weight = Matrix.of(normal(outs, ins) * ins**-0.5)
    update = LowRankUpdate.of(normal(len(ends) * RANK, ins) * 0.01, normal(outs, RANK) * 0.01, ends)
    if rows == 1:
        update = None
    canvas = torch.ones(rows, dtype=torch.int32, device=device) if update else None
    bias, stream = normal(outs), normal(rows, outs).float()
    x: Tensor | Normed = normal(rows, ins)
    if name in ("qkv", "gate_up"):
        x = Normed.empty(rows, normal(ins).float(), torch.bfloat16)
        x.write(normal(rows, ins).float())
    into = Normed.empty(rows, normal(outs).float(), torch.bfloat16) if name in ("out", "down") else None
    cos, sin = normal(1, shape.head_dim // 2).float(), normal(1, shape.head_dim // 2).float()
    keys, values = normal(2, 1 + rows // PAGE, shape.kv_heads, PAGE, shape.head_dim)
    number = torch.arange(rows, dtype=torch.int32, device=device)
    none = number[:0]
    packed = PackedRows(number, 0 * number, none, 0 * number + 1, number, *[none] * 5)

    def launch(weight: Matrix, cut: Tiling) -> object:
        if name == "qkv":
            return qkv_rope_write(x, weight, bias, 1e-6, cos, sin, keys, values, packed, update, cut=cut)
        if name == "gate_up":
            return gated_swiglu(x, weight, 1e-6, update, canvas, cut=cut)
        return gated_linear(x, weight, update=update, canvas=canvas, residual=stream, into=into, cut=cut)

    head = shape.head_dim if name == "qkv" else 0
    return weight, launch, tiling(rows, weight, head, splits=name in ("out", "down"))


def _others(guess: Tiling, outs: int, shares: tuple[int, ...], few: bool) -> list[Tiling]:
    tried = product((16, 32, 64, 128), (64, 128, 256), shares, (4, 8), (2, 3, 4))
    cuts = [replace(guess, n=n, k=k, splits=s, warps=w, stages=t) for n, k, s, w, t in tried]
    fit = [cut for cut in cuts if cut.stages * cut.k * (cut.m + cut.n) * 2 < 200_000 and cut.n <= outs]
    return fit[:1] if few else fit[:: max(1, len(fit) // 24)]


@torch.inference_mode()
def _captured(setting: Setting, copies: list[Matrix], launch: Launch, cut: Tiling) -> Callable[[], object]:
    def all_of_them() -> None:
        for weight in copies:
            launch(weight, cut)

    all_of_them()
    if setting.rehearse:
        return all_of_them
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        all_of_them()
    return graph.replay
