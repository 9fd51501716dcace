"""Decode time per gap, mode against mode in one run: `python -m bench.decode --gaps 100`.

Gaps are single-line HumanEval-Infilling. Each is prefilled once; every variant then decodes it from a copy of that
session, in an order that changes from gap to gap, so that a slow moment of the machine hits all alike. Ratios are
taken gap by gap.
"""

import argparse
import random
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.command import DTYPES, at_least, guarded, line, loaded, written
from bench.quality.sets import load
from bench.spread import quartiles
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Engine, Fill, Gap, Options

BASE = "autoregressive"


def variants() -> dict[str, "Options"]:
    from dlsp_engine import Options

    common = {"end": "line", "max_tokens": 64}
    return {
        BASE: Options(mode="autoregressive", **common),
        "auto": Options(copy=False, **common),
        "auto-copy": Options(**common),
        "auto-copy-3": Options(draft=3, **common),
        "auto-copy-6": Options(draft=6, **common),
        "split-3": Options(schedule="split", draft=3, copy=False, **common),
        "split-4": Options(schedule="split", draft=4, copy=False, **common),
        "split-4-copy": Options(schedule="split", draft=4, **common),
        "merged-2": Options(schedule="merged", draft=2, copy=False, **common),
        "merged-3": Options(schedule="merged", draft=3, copy=False, **common),
    }


def measure(engine: "Engine", gaps: Sequence["Gap"], wanted: dict[str, "Options"]) -> list[dict[str, "Fill"]]:
    """One fill of every variant for each gap; the first gap is filled once more beforehand to warm up."""
    rng = random.Random(0)
    measured = []
    for gap in track([gaps[0], *gaps], description="decoding"):
        prefilled = engine.prefilled(gap)
        fills = {
            name: engine.fill(gap, wanted[name], prefilled.copy()) for name in rng.sample(list(wanted), len(wanted))
        }
        measured.append(fills)
    return measured[1:]


def summary(measured: Sequence[dict[str, "Fill"]]) -> dict[str, float]:
    """By variant: decode ms per gap and its ratio to the baseline's (quartiles), in sums too; tau, forwards, rows."""
    metrics: dict[str, float] = {}
    base = [fills[BASE] for fills in measured]
    for name in measured[0]:
        own = [fills[name] for fills in measured]
        milliseconds = [fill.cost.decode_ms for fill in own]
        ratios = [fill.cost.decode_ms / other.cost.decode_ms for fill, other in zip(own, base, strict=True)]
        metrics |= quartiles(f"{name}/decode_ms_", milliseconds) | quartiles(f"{name}/ratio_", ratios)
        metrics[f"{name}/ratio_of_sums"] = sum(milliseconds) / sum(fill.cost.decode_ms for fill in base)
        forwards = sum(fill.cost.forwards for fill in own)
        metrics[f"{name}/tau"] = sum(fill.cost.tokens for fill in own) / forwards
        metrics[f"{name}/forwards"] = forwards / len(own)
        metrics[f"{name}/rows"] = sum(fill.cost.rows for fill in own) / len(own)
        same = sum(fill.tokens == other.tokens for fill, other in zip(own, base, strict=True))
        metrics[f"{name}/identical"] = same / len(own)
    return {name: round(value, 4) for name, value in metrics.items()}


def show(metrics: dict[str, float], names: Sequence[str]) -> None:
    columns = {"ms": "decode_ms_median", "ratio": "ratio_median", "q1": "ratio_q1", "q3": "ratio_q3"}
    columns |= {"tau": "tau", "fwd": "forwards", "rows": "rows", "same": "identical"}
    table = Table("variant", title="decode time per gap, prefill apart; ratios to autoregressive, gap by gap")
    for title in columns:
        table.add_column(title, justify="right")
    for name in names:
        table.add_row(name, *(f"{metrics[f'{name}/{column}']:.2f}" for column in columns.values()))
    Console().print(table)


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.decode", description="Decode time per gap, mode against mode.")
    parser.add_argument("--gaps", type=at_least(2), default=100)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="bfloat16", choices=DTYPES)
    asked = parser.parse_args()
    model, tasks = catalogue.find(asked.model), load("single-line", asked.gaps, seed=0)
    engine, wanted = loaded(model, asked.dtype), variants()
    from dlsp_engine import Gap

    measured = measure(engine, [Gap(task.prefix, task.suffix) for task in tasks], wanted)
    metrics = summary(measured)
    show(metrics, list(wanted))
    samples = [
        {"task": task.id}
        | {name: [round(f.cost.decode_ms, 1), f.cost.forwards, f.cost.tokens] for name, f in fills.items()}
        for task, fills in zip(tasks, measured, strict=True)
    ]
    return written(f"decode-{model.name}-{asked.dtype}", line(parser, asked), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
