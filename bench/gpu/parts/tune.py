"""Other ways to cut the matrices of the 0.5B model than the guess in `dlsp_kernels.tiling`: which is fastest."""

from dataclasses import replace
from itertools import product

import torch
from torch import Tensor

from bench.gpu.setting import Sample, Setting
from bench.gpu.shapes import SHAPES
from dlsp_kernels.matrix import Matrix
from dlsp_kernels.ops import is_devices
from dlsp_kernels.tiling import Tiling, tiling

COPIES = 12
"""Of each matrix, read in turn: together larger than any cache."""


def run(setting: Setting) -> list[Sample]:
    from dlsp_kernels.gated_linear.triton import gated_linear

    shape = SHAPES["tiny" if setting.rehearse else "0.5b"]
    sizes = {"qkv": (shape.qkv, shape.dim), "out": (shape.dim, shape.dim), "down": (shape.dim, shape.ff)}
    sizes["gate_up"] = (2 * shape.ff, shape.dim)
    found: list[Sample] = []
    for (name, (outs, ins)), rows in product(sizes.items(), (1, 25, 128)):
        copies = 1 if setting.rehearse else COPIES
        weights = [Matrix.of(torch.randn(outs, ins, device=setting.device).bfloat16()) for _ in range(copies)]
        x = torch.randn(rows, ins, device=setting.device).bfloat16()
        guess = tiling(rows, weights[0], splits=True)
        times: dict[str, float] = {}
        for cut in [guess, *_others(guess, outs, setting.rehearse)]:

            def launch(cut: Tiling = cut, weights: list[Matrix] = weights, x: Tensor = x) -> None:
                for weight in weights:
                    gated_linear(x, weight, cut=cut)

            try:
                times[str(cut)] = _graphed_ms(setting, launch) / copies
            except Exception as error:
                if is_devices(error):
                    raise
                times[str(cut)] = float("inf")
        best = min(times, key=lambda cut: times[cut])
        sample = {"name": f"{name}, {rows} rows", "guess": str(guess), "guess_us": 1e3 * times[str(guess)]}
        found.append(sample | {"best": best, "best_us": 1e3 * times[best], "tried": len(times)})
    return found


def _others(guess: Tiling, outs: int, few: bool) -> list[Tiling]:
    tried = product((16, 32, 64, 128), (64, 128, 256), (1, 4, 8), (4, 8), (2, 3, 4))
    cuts = [replace(guess, n=n, k=k, splits=s, warps=w, stages=t) for n, k, s, w, t in tried]
    fit = [cut for cut in cuts if cut.stages * cut.k * (cut.m + cut.n) * 2 < 200_000 and cut.n <= outs]
    return fit[:1] if few else fit[:: max(1, len(fit) // 24)]


def _graphed_ms(setting: Setting, launch) -> float:
    if setting.rehearse:
        return setting.median_ms(launch)
    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    return setting.median_ms(graph.replay, 20)
