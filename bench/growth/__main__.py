"""The command: `python -m bench.growth`."""

import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack

import psutil
from rich.console import Console
from rich.table import Table

from bench.command import DTYPES, guarded, until_stopped, weights_cache, written
from bench.growth.measure import Sample, measure
from bench.growth.work import ONCE, WHOLE
from bench.peers.contenders import Field
from bench.peers.summary import notes
from dlsp.models import catalogue, store
from dlsp_engine.model.convert import converted
from dlsp_engine.text.tokenizer import ModelTokenizer


def summary(samples: Sequence[Sample]) -> dict[str, float]:
    """`CONTENDER/WHAT/SIZE/…`: medians, the least and the most, of `ms`, `first_ms` and `cold_ms`; tokens a sample."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    for one in samples:
        groups[f"{one.contender}/{one.what}/{one.size}"].append(one)
    metrics: dict[str, float] = {}
    for name, of in groups.items():
        for field in ("ms", "first_ms", "cold_ms"):
            values = [value for one in of if (value := getattr(one, field)) is not None]
            if values:
                metrics[f"{name}/{field}"] = statistics.median(values)
                metrics[f"{name}/{field}_min"], metrics[f"{name}/{field}_max"] = min(values), max(values)
        metrics[f"{name}/tokens"] = statistics.mean(one.tokens for one in of)
    return {name: round(value, 1) for name, value in metrics.items()}


def show(metrics: dict[str, float]) -> None:
    table = Table("contender", "work", title="milliseconds, medians", title_justify="left")
    for heading in ("size", "all", "first", "cold"):
        table.add_column(heading, justify="right")
    for name, value in metrics.items():
        if name.endswith("/ms"):
            contender, what, size, _ = name.split("/")
            more = [metrics.get(f"{name.removesuffix('ms')}{field}") for field in ("first_ms", "cold_ms")]
            table.add_row(contender, what, size, f"{value:.0f}", *("" if v is None else f"{v:.0f}" for v in more))
    Console().print(table)


@guarded()
def main() -> int:
    """0 when it was written, 2 for what the user has to mend, 130 when interrupted before the first size was done."""
    parser = argparse.ArgumentParser("python -m bench.growth", description=sys.modules["bench.growth"].__doc__)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    parser.add_argument("--once", action="store_true", help="fewer sizes, each once")
    asked = parser.parse_args()
    with ExitStack() as stack:
        return _run(asked, stack)


def _run(asked: argparse.Namespace, stack: ExitStack) -> int:
    sizes = ONCE if asked.once else WHOLE
    model = catalogue.find(asked.model)
    gguf = store.path(model)
    threads = psutil.cpu_count(logical=False) or 1
    room = max(sizes.contexts) + max(sizes.gaps) + 64
    contenders, missing = Field(gguf, [asked.dtype], threads, context=room, several=True).enter(stack)
    tokenizer = ModelTokenizer(converted(gguf, weights_cache("bfloat16", infill_update=False), dense=False))
    total = len(list(sizes.all()))
    taken = until_stopped(measure(contenders, sizes, tokenizer), f"{model.name}, {threads} threads", total)
    samples = [one for of in taken for one in of]
    children = {one.child.name: one.child for one in contenders}
    metrics = summary(samples)
    metrics |= {f"{name}/resident_mb": round(child.resident() / 1e6, 1) for name, child in children.items()}
    show(metrics)
    facts = {name: child.facts for name, child in children.items()}
    said = [*notes(facts, "native"), *missing.values()]
    print(*said, sep="\n")
    command = f"python -m bench.growth --model {asked.model} --dtype {asked.dtype}{' --once' if asked.once else ''}"
    return written(
        f"growth-{model.name}",
        command,
        metrics,
        [one.as_json() for one in samples],
        threads=threads,
        sides=facts,
        missing=missing,
        notes=said,
    )


if __name__ == "__main__":
    sys.exit(main())
