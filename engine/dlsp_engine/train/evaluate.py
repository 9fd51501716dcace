"""`python -m dlsp_engine.train.evaluate`: measures, in the engine itself, how many steps an adapter saves on held-out
gaps.
"""

import argparse
import json
import lzma
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from dlsp_engine.decode.draft import Draft
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError, exit_on_error
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import File, Gap, prompt
from dlsp_engine.text.tokenizer import ModelTokenizer
from dlsp_engine.train import checkpoint, store, walk
from dlsp_engine.train.bootstrap import interval
from dlsp_engine.train.gaps import ENDS
from dlsp_engine.train.model import CanvasModel, Parameters

MAX_ANSWER_TOKENS = 64


@dataclass(frozen=True)
class HeldOut:
    """A held-out gap, its kind, and where it comes from."""

    gap: Gap
    kind: str
    language: str
    package: str = ""


# The schedules whose number of steps can be predicted: `auto` depends on the machine.
FIXED_SCHEDULES = ("split", "merged")


@dataclass(frozen=True)
class Measured:
    """Measurements of one gap: the tokens committed, the forward passes that each schedule took, and the number
    predicted for each from teacher forcing.
    """

    kind: str
    language: str
    tokens: int
    forwards: dict[str, int]
    predicted: dict[str, int]  # empty if nothing was predicted
    hits: list[list[bool]]  # by canvas and position: whether the draft was right; empty likewise
    same: bool  # both schedules gave the autoregressive tokens
    package: str = ""
    rows: dict[str, int] = field(default_factory=dict)  # by schedule: the rows of its forward passes, without prefill


def read(path: Path, limit: int | None = None) -> list[HeldOut]:
    """Return the gaps in a file that `samples` wrote; with `limit`, that many, spread over the whole file. Raises
    EngineError if the file cannot be read.
    """
    try:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    except (OSError, lzma.LZMAError) as error:
        raise EngineError(f"{path} cannot be read ({error}); make it with `dlsp train samples`.") from error
    rows = [json.loads(line) for line in lines]
    if limit and limit < len(rows):
        rows = [rows[at * len(rows) // limit] for at in range(limit)]
    return [
        HeldOut(
            Gap(row["prefix"], row["suffix"], path=row["path"], files=tuple(File(*file) for file in row["files"])),
            row["kind"],
            row["language"],
            row["package"],
        )
        for row in rows
    ]


def measure(engine: Engine, model: CanvasModel | None, gaps: Sequence[HeldOut], draft: int) -> Iterator[Measured]:
    """Yield the measurements of one gap after the other. `model`, if given, has the engine's weights and adapter, and
    predicts how many forward passes the engine takes.
    """
    for held in gaps:
        options = {"end": ENDS[held.kind], "max_tokens": MAX_ANSWER_TOKENS}
        session = engine.new_session()
        base = engine.fill(held.gap, Options(mode="autoregressive", **options), session)
        fills = {
            name: engine.fill(held.gap, Options(schedule=name, draft=draft, copy=False, **options), session.copy())
            for name in FIXED_SCHEDULES
        }
        answer = list(base.tokens)
        drafted: list[Draft] = []
        predicted: dict[str, int] = {}
        if model:
            drafted, following = walk.drafts(model, prompt(held.gap, engine.tokenizer).tokens, answer, draft)
            if base.reason == "end":
                answer.append(following)
            for name in FIXED_SCHEDULES:
                merged = name == "merged"
                predicted[name] = walk.forwards(drafted, answer, draft, merged, engine.model.alternatives)
        yield Measured(
            held.kind,
            held.language,
            base.cost.tokens,
            {name: fill.cost.forwards for name, fill in fills.items()},
            predicted,
            [[a == b for a, b in zip(row.tokens, answer[i + 1 :], strict=False)] for i, row in enumerate(drafted)],
            all(fill.tokens == base.tokens for fill in fills.values()),
            held.package,
            {name: fill.cost.rows for name, fill in fills.items()},
        )


def summary(measured: Sequence[Measured], draft: int) -> dict[str, Any]:
    """Return a summary: for each schedule tau with its 95% interval, rows per step, predicted tau, and tau by kind and
    language; and how often drafts agree, by position.
    """
    result: dict[str, Any] = {"gaps": len(measured), "draft": draft}
    for name in FIXED_SCHEDULES:
        tokens, forwards = [one.tokens for one in measured], [one.forwards[name] for one in measured]
        low, high = interval([one.package for one in measured], tokens, forwards)
        result[name] = {"tau": _tau(measured, name), "interval": [round(low, 4), round(high, 4)]}
        result[name]["rows"] = round(sum(one.rows.get(name, 0) for one in measured) / max(1, sum(forwards)), 2)
        if predicted := sum(one.predicted.get(name, 0) for one in measured):
            result[name]["offline_tau"] = round(sum(one.tokens for one in measured) / predicted, 4)
        for what in ("kind", "language"):
            groups = sorted({getattr(one, what) for one in measured})
            result[name][what] = {
                group: _tau([one for one in measured if getattr(one, what) == group], name) for group in groups
            }
    if any(one.hits for one in measured):
        columns = [[row[at] for one in measured for row in one.hits if at < len(row)] for at in range(draft)]
        result["agreement"] = [round(statistics.fmean(column), 4) if column else 0.0 for column in columns]
    result["identical"] = round(sum(one.same for one in measured) / max(1, len(measured)), 4)
    return result


def _tau(measured: Sequence[Measured], schedule: str) -> float:
    """Return the tokens committed per forward pass with this schedule."""
    return round(sum(one.tokens for one in measured) / max(1, sum(one.forwards[schedule] for one in measured)), 4)


def stamp(path: Path, weights: Weights, scores: dict[str, Any]) -> None:
    """Write the scores into the adapter's metadata."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
    earlier = json.loads(metadata.get("scores", "{}")) | {"run_time": scores}
    checkpoint.export(path, Parameters.load(path, weights), metadata | {"scores": json.dumps(earlier)})


def _loaded(options: argparse.Namespace) -> tuple[Weights, Engine, CanvasModel | None]:
    """Return the weights of the base, the engine with the adapter, and the model that predicts its steps (None for
    int8).
    """
    int8 = options.dtype == "int8"
    weights = Weights.load(options.weights, torch.bfloat16 if int8 else getattr(torch, options.dtype))
    with safe_open(options.weights / "weights.safetensors", framework="pt") as file:
        base = (file.metadata() or {})["source"]
    adapter = Adapter.load(options.adapter, base, weights.architecture, weights.dtype)
    tokenizer = ModelTokenizer(options.weights)
    if not int8:
        model = CanvasModel(weights, Parameters.load(options.adapter, weights))
        return weights, Engine(Qwen2(weights, adapter), tokenizer), model
    # Imported here because they need LLVM, which a machine that does not run int8 need not have.
    from dlsp_engine.model.int8 import Int8Qwen2, Int8Weights
    from dlsp_engine.model.quantised import quantised
    from dlsp_kernels.int8_linear.kinds import best

    if not (kind := best()):
        raise EngineError("This machine has no int8 matmul; give another --dtype.")
    packed = Int8Weights.of(quantised(weights, adapter, kind), weights.architecture, kind)
    return weights, Engine(Int8Qwen2(weights, adapter, packed), tokenizer), None


def _until_stopped(found: Iterator[Measured], total: int) -> list[Measured]:
    """Return what is measured until the end or until Ctrl-C. Raises KeyboardInterrupt if nothing has been measured by
    then.
    """
    measured: list[Measured] = []
    try:
        for one in found:
            measured.append(one)
            if len(measured) % 20 == 0:
                so_far = f"{len(measured)} of {total} gaps, tau {_tau(measured, 'split')}"
                print(so_far, file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        if not measured:
            raise
        print(f"Stopped after {len(measured)} of {total} gaps: these count.", file=sys.stderr)
    return measured


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dlsp train eval", description="Measure an adapter.")
    add = parser.add_argument
    add("--gaps", type=Path, required=True, metavar="FILE", help="gaps.jsonl.xz that `dlsp train samples` made")
    add("--weights", type=Path, required=True, metavar="DIR", help="the base, converted")
    add("--adapter", type=Path, required=True, metavar="FILE")
    add("--limit", type=int, help="so many of the gaps")
    add("--draft", type=int, default=4, help="masks of a canvas (default 4)")
    add("--dtype", default="bfloat16", choices=("bfloat16", "float32", "int8"), help="int8: no foretelling")
    add("--threads", type=int, default=0, help="of the CPU (default: all)")
    add("--out", type=Path, metavar="FILE", help="the numbers as JSON")
    add("--stamp", action="store_true", help="write the numbers into the adapter's metadata")
    options = parser.parse_args(arguments)
    if options.limit is not None and options.limit < 1:
        parser.error("--limit must be at least 1.")
    if options.threads:
        torch.set_num_threads(options.threads)
    with exit_on_error("Stopped: nothing was measured."):
        weights, engine, model = _loaded(options)
        gaps = read(options.gaps, options.limit)
        scores = summary(_until_stopped(measure(engine, model, gaps, options.draft), len(gaps)), options.draft)
        print(json.dumps(scores, indent=1))
        if options.out:
            store.replace(options.out, json.dumps(scores, indent=1).encode())
        if options.stamp:
            stamp(options.adapter, weights, scores)
    return 0


if __name__ == "__main__":
    sys.exit(main())
