"""Windows of mined edits written anew by the model: `python -m bench.rewrite --edits 40 --negatives 20`.

Each window is a file's lines after the first hunk of a mined edit, which stands for the user's own. The model decodes
it once from the end of that hunk, as `/v1/rewrite` does; what should follow is the edit's other hunks, or nothing
(*negatives*). With a *gate* of so many nats, a rewrite counts as shown only where the window is doubted more.
"""

import argparse
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from bench.command import DTYPES, at_least, guarded, loaded, until_stopped, written
from bench.edits.rows import Row, load
from bench.edits.score import Outcome, outcome, summary
from dlsp.edits.history.hunks import hunks, lines_of
from dlsp.models import catalogue

if TYPE_CHECKING:
    from dlsp_engine import Engine
    from dlsp_engine.text.rewrite import Rewrite

AROUND_LINES = 2  # of the diff's context
COSTS = ("tokens", "forwards", "prompt_tokens", "prefill_ms", "decode_ms")
GATES_NATS = (0, 0.5, 1, 2, 3, 4, 6)
SETS = {"edits": "dev", "negatives": "negatives-dev"}


def diff(row: Row) -> str:
    """The user's hunk as a diff."""
    old, hunk = lines_of(row.before), row.hunks[0]
    around = (
        old[max(0, hunk.start - AROUND_LINES) : hunk.start],
        old[hunk.start : hunk.end],
        hunk.lines,
        old[hunk.end : hunk.end + AROUND_LINES],
    )
    return "".join(sign + each.rstrip("\n") + "\n" for sign, part in zip(" -+ ", around, strict=True) for each in part)


def window(row: Row, margin: float) -> "Rewrite":
    from dlsp_engine.text.prompt import File
    from dlsp_engine.text.rewrite import Rewrite

    edits, first = (File("edit.diff", diff(row)),), row.hunks[0]
    return Rewrite(row.page.text, path=row.path, keep=first.start + len(first.lines), edits=edits, margin=margin)


def measure(engine: "Engine", rows: Sequence[tuple[str, Row]], margin: float, most: int) -> Iterator[dict[str, Any]]:
    from dlsp_engine import Options

    options = Options(max_tokens=most)
    for number, (kind, row) in enumerate([rows[0], *rows]):
        request = engine.rewrite_request(window(row, margin), options)
        while not request.done:
            engine.step([request])
        if not number:
            continue  # it has warmed up
        told = request.outcome()
        changed = hunks(row.page.lines, lines_of(told.text))
        found = outcome(row, changed)
        cost = {name: round(getattr(told.cost, name), 1) for name in COSTS}
        yield {
            "kind": kind,
            "id": row.id,
            "hunks": [[each.start, each.end, list(each.lines)] for each in changed],
            "wanted": found.wanted,
            "shown": found.shown,
            "right": found.right,
            "doubt": round(told.doubt, 4),
            "reason": told.reason,
        } | cost


def gated(sample: dict[str, Any], gate: float) -> Outcome:
    """What is shown and right if windows that are doubted less are left alone."""
    quiet = sample["doubt"] <= gate
    return Outcome(sample["wanted"], 0 if quiet else sample["shown"], 0 if quiet else sample["right"], 0)


def summarised(samples: Sequence[dict[str, Any]]) -> dict[str, float]:
    """`KIND/gate GATE/NUMBER`, and what windows cost that changed and that stayed."""
    metrics: dict[str, float] = {}
    for kind in dict.fromkeys(sample["kind"] for sample in samples):
        own = [sample for sample in samples if sample["kind"] == kind]
        for gate in GATES_NATS:
            found = summary([gated(sample, gate) for sample in own])
            found.pop("reached")
            metrics |= {f"{kind}/gate {gate:g}/{name}": value for name, value in found.items()}
    for name, changed in (("changed", True), ("stayed", False)):
        own = [sample for sample in samples if bool(sample["shown"]) == changed and sample["reason"] != "length"]
        if own:
            forwards, tokens = ([sample[what] for sample in own] for what in ("forwards", "tokens"))
            metrics |= {f"{name}/windows": len(own), f"{name}/forwards_median": statistics.median(forwards)}
            metrics |= {f"{name}/tau": sum(tokens) / sum(forwards), f"{name}/tokens_median": statistics.median(tokens)}
            metrics |= {f"{name}/{ms}_median": statistics.median(sample[ms] for sample in own) for ms in COSTS[-2:]}
    metrics["too_long"] = sum(sample["reason"] == "length" for sample in samples)
    return {name: round(value, 4) for name, value in metrics.items()}


def show(metrics: dict[str, float]) -> None:
    columns = ("exact", "all_exact", "precision", "quiet")
    table = Table("", "gate", "windows", "hunks", *columns)
    for kind in SETS:
        for gate in GATES_NATS:
            name = f"{kind}/gate {gate:g}"
            if f"{name}/rows" in metrics:
                counts = (f"{metrics[f'{name}/{what}']:.0f}" for what in ("rows", "hunks"))
                table.add_row(kind, f"{gate:g}", *counts, *(f"{metrics[f'{name}/{what}']:.1%}" for what in columns))
    Console().print(table)
    for name, value in metrics.items():
        if "gate" not in name:
            print(f"{name} {value:g}")


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.rewrite", description="Windows of mined edits written anew.")
    parser.add_argument("--edits", type=at_least(1), default=40, help="so many windows, drawn by chance")
    parser.add_argument("--negatives", type=at_least(1), default=20, help="so many after edits that nothing follows")
    parser.add_argument("--margin", type=float, default=0.0)
    parser.add_argument("--max-tokens", dest="most", type=at_least(1), default=64)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="int8", choices=DTYPES)
    asked = parser.parse_args()
    rows: list[tuple[str, Row]] = []
    for kind, name in SETS.items():
        drawn = [row for row in load(name) if row.hunks]
        rows += [(kind, row) for row in random.Random(0).sample(drawn, min(len(drawn), getattr(asked, kind)))]
    random.Random(1).shuffle(rows)
    model = catalogue.find(asked.model)
    samples = until_stopped(measure(loaded(model, asked.dtype), rows, asked.margin, asked.most), "writing", len(rows))
    metrics = summarised(samples)
    show(metrics)
    command = "python -m bench.rewrite " + " ".join(sys.argv[1:])
    return written(f"rewrite-{model.name}-{asked.dtype}", command.strip(), metrics, samples)


if __name__ == "__main__":
    sys.exit(main())
