"""What a step costs by dtype, in turns of one process: `python -m bench.steps --model 1.5b --dtypes int8,int4`.

A step is whole, the output head included, behind a context of 300 tokens. In each turn every dtype takes one step of
each number of rows, in an order that changes; ratios are taken turn by turn. In each turn the threads of a step also
read each dtype's weights and do nothing else with them: by that, `share` says how near a step of one row comes to what
memory allows.

Processor time is taken too. With `--threads 1` its ratios hold beside other programs, which a clock's do not.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.command import DTYPES, at_least, guarded, line, loaded, weights_cache, written
from bench.spread import quartiles
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Engine

CONTEXT = 300
ROWS = (1, 2, 4, 8, 16, 32, 128)

# Steps of up to so many rows have logits for each; wider ones are steps of prefill, which need those of the last row.
DECODED_ROWS = 32

# Milliseconds by what took them, such as `int4/8` and `int4/read`; processor time as `int4/8/cpu`.
Turn = dict[str, float]


def step(engine: "Engine", rows: int) -> Callable[[], None]:
    """A function that takes one step of so many rows."""
    from dlsp_engine.decode.scores import greedy
    from dlsp_engine.model.rows import Rows

    model, cache = engine.model, engine.model.new_cache()

    def forward(count: int) -> None:
        some = Rows()
        some.add_clean([100 + number for number in range(count)], cache.length)
        hidden = model.forward([(cache, some)])
        greedy(model.head(hidden if count <= DECODED_ROWS else hidden[-1:]))

    while cache.length < CONTEXT:
        count = min(128, CONTEXT - cache.length)
        forward(count)
        cache.length += count
    return lambda: forward(rows)


def weights_file(model: str, dtype: str) -> Path | None:
    """The file of integer weights that an engine of this dtype has mapped; None for other dtypes."""
    found = weights_cache(dtype).glob(f"converted/{model}*/int[48]-*.safetensors")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def step_bytes(path: Path) -> int:
    """The bytes of weights that a step of clean rows reads: those of all matrices and their scales."""
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        names = [name for name in file.keys() if name.endswith((".weight", ".scale"))]  # noqa: SIM118
        return sum(file.get_tensor(name).nbytes for name in names)


def reading(path: Path, threads: int) -> Callable[[], None]:
    """A function that reads a file which is in memory, each thread its part."""
    words = np.memmap(path, np.int64, "r", shape=(path.stat().st_size // 8,))
    parts, pool = np.array_split(words, threads), ThreadPoolExecutor(threads)

    def read() -> None:
        list(pool.map(np.max, parts))

    return read


def measure(jobs: dict[str, Callable[[], None]], turns: int) -> list[Turn]:
    """Milliseconds of each job in each turn. Two turns more come first, in which steps are captured."""
    found: list[Turn] = []
    for number in track(range(-2, turns), description="stepping"):
        taken: Turn = {}
        for name in random.Random(number).sample(list(jobs), len(jobs)):
            began, before = time.perf_counter(), time.process_time()
            jobs[name]()
            taken[name] = round(1e3 * (time.perf_counter() - began), 3)
            taken[f"{name}/cpu"] = round(1e3 * (time.process_time() - before), 3)
        if number >= 0:
            found.append(taken)
    return found


def summary(turns: Sequence[Turn], dtypes: Sequence[str], sizes: dict[str, tuple[int, int]]) -> dict[str, float]:
    """`DTYPE/ROWS/…`: quartiles of milliseconds and of the ratio to the first dtype, by the clock and in processor
    time. `DTYPE/read_gb_s_…`: what threads that only read reach; `DTYPE/share_…`: what a step of one row reaches of it.
    `sizes`: by dtype, the bytes that a step reads, and those of the file.
    """
    metrics: dict[str, float] = {}
    for dtype in dtypes:
        for rows in ROWS:
            for of, kind in (("", ""), ("/cpu", "cpu_")):
                own = [turn[f"{dtype}/{rows}{of}"] for turn in turns]
                metrics |= quartiles(f"{dtype}/{rows}/{kind}ms_", own)
                if dtype != dtypes[0]:
                    beside = [turn[f"{dtypes[0]}/{rows}{of}"] for turn in turns]
                    ratios = [mine / other for mine, other in zip(own, beside, strict=True)]
                    metrics |= quartiles(f"{dtype}/{rows}/{kind}ratio_", ratios)
        if dtype in sizes:
            step_size, file_size = sizes[dtype]
            metrics[f"{dtype}/step_mb"] = step_size / 1e6
            metrics[f"{dtype}/file_mb"] = file_size / 1e6
            speed = [file_size / turn[f"{dtype}/read"] / 1e6 for turn in turns]
            metrics |= quartiles(f"{dtype}/read_gb_s_", speed)
            shares = [step_size / turn[f"{dtype}/1"] / 1e6 / at for turn, at in zip(turns, speed, strict=True)]
            metrics |= quartiles(f"{dtype}/share_", shares)
    return {name: round(value, 3) for name, value in metrics.items()}


def show(metrics: dict[str, float], dtypes: Sequence[str]) -> None:
    table = Table("dtype", title=f"a step behind {CONTEXT} tokens, medians; ratios to {dtypes[0]}")
    for rows in ROWS:
        table.add_column(f"{rows} rows", justify="right")
    table.add_column("share", justify="right")
    for dtype in dtypes:
        for kind, said in (("ms", "ms"), ("cpu_ms", "cpu ms"), ("ratio", "ratio"), ("cpu_ratio", "cpu ratio")):
            cells = [metrics.get(f"{dtype}/{rows}/{kind}_median") for rows in ROWS]
            share = metrics.get(f"{dtype}/share_median") if kind == "ms" else None
            if None not in cells:
                table.add_row(f"{dtype}, {said}", *("" if cell is None else f"{cell:.2f}" for cell in [*cells, share]))
    out = Console()
    out.width = max(out.width, 120)
    out.print(table)


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.steps", description="What a step costs, dtype against dtype.")
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtypes", default="int8,int4", help=f"separated by commas, of {', '.join(DTYPES)}")
    parser.add_argument("--turns", type=at_least(2), default=30)
    parser.add_argument("--threads", type=at_least(1), help="all cores if not given")
    asked = parser.parse_args()
    model, dtypes = catalogue.find(asked.model), asked.dtypes.split(",")
    if unknown := set(dtypes) - set(DTYPES):
        parser.error(f"--dtypes takes {', '.join(DTYPES)}; not {', '.join(unknown)}.")
    engines = {dtype: loaded(model, dtype) for dtype in dtypes}
    import torch

    from dlsp_engine.threads import using

    with using(asked.threads):
        threads = torch.get_num_threads()
        jobs = {f"{dtype}/{rows}": step(engine, rows) for dtype, engine in engines.items() for rows in ROWS}
        files = {dtype: path for dtype in dtypes if (path := weights_file(model.name, dtype))}
        jobs |= {f"{dtype}/read": reading(path, threads) for dtype, path in files.items()}
        turns = measure(jobs, asked.turns)
    sizes = {dtype: (step_bytes(path), path.stat().st_size) for dtype, path in files.items()}
    metrics = summary(turns, dtypes, sizes)
    show(metrics, dtypes)
    isa = torch.backends.cpu.get_cpu_capability()
    bench = f"steps-{model.name}" + (f"-{asked.threads}-threads" if asked.threads else "")
    return written(bench, line(parser, asked), metrics, turns, threads=threads, isa=isa)


if __name__ == "__main__":
    sys.exit(main())
