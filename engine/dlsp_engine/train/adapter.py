"""`python -m dlsp_engine.train.adapter`: trains a canvas adapter on a CPU or one NVIDIA GPU."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from dlsp_engine.errors import EngineError
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import checkpoint, store
from dlsp_engine.train.model import CanvasModel, Parameters
from dlsp_engine.train.pairs import counted
from dlsp_engine.train.recipe import Recipe
from dlsp_engine.train.score import Score, score
from dlsp_engine.train.store import Samples
from dlsp_engine.train.trainer import Trainer

HEAD_ROWS = {"cpu": 128, "cuda": 4096}
SAY_SECONDS = 20.0


class Run:
    """A run in a folder: `log.jsonl`, `checkpoint.pt` and `adapter.safetensors`, the last two as of the last save."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.asked = asked
        device = torch.device(asked.device)
        torch.manual_seed(asked.seed)
        weights = Weights.load(asked.weights, torch.float32 if asked.float32 else torch.bfloat16)
        start = asked.start
        parameters = Parameters.load(start, weights) if start else Parameters(weights, asked.rank)
        asked.rank = parameters.rank
        model = CanvasModel(weights, parameters.to(device), asked.recompute, asked.compile)
        samples = Samples(asked.samples, "train")
        parameters.bigrams = counted(samples, weights.architecture.vocab, checkpoint.room(parameters))
        recipe = Recipe.of(asked)
        self.trainer = Trainer(model, samples, recipe, asked.head_rows or HEAD_ROWS[device.type])
        self.held_out = Samples(asked.samples, "heldout")
        self.metadata = _origin(asked)
        asked.out.mkdir(parents=True, exist_ok=True)
        self.before = checkpoint.resume(asked.out, self.trainer)
        self.began = time.monotonic()
        self.scores: list[Score] = []
        self.stopped = False

    @property
    def elapsed(self) -> float:
        return self.before + time.monotonic() - self.began

    def progress(self) -> float:
        """The share of the budget that is used up."""
        parts = [self.trainer.step / self.asked.steps] if self.asked.steps else []
        parts += [self.elapsed / 60 / self.asked.minutes] if self.asked.minutes else []
        return max(parts)

    def train(self) -> None:
        asked, trainer = self.asked, self.trainer
        self.judge()
        said = saved = judged = time.monotonic()
        losses, taught, rows = [], 0, 0
        while (progress := self.progress()) < 1 and not self.stopped:
            step = trainer.advance(trainer.recipe.rate(trainer.step, progress))
            losses.append(step.loss)
            taught, rows = taught + step.taught, rows + step.rows
            now = time.monotonic()
            if asked.every_step or now - said > SAY_SECONDS:
                self.say(
                    loss=round(sum(losses) / len(losses), 6),
                    norm=round(step.norm, 3),
                    taught_per_second=round(taught / (now - said)),
                    rows_per_second=round(rows / (now - said)),
                )
                said, losses, taught, rows = now, [], 0, 0
            judging = now - judged > 60 * asked.judge_minutes
            if judging or now - saved > 60 * asked.save_minutes:
                self.save()  # before a score too: it takes long on a CPU, and a kill must cost nothing
                saved = time.monotonic()
            if judging:
                self.judge()
                judged = time.monotonic()
        self.save()
        if not self.stopped:
            self.judge()
            self.save()

    def judge(self) -> None:
        """Score the held-out samples."""
        trainer, asked = self.trainer, self.asked
        width = trainer.recipe.width(0)
        count = max(1, trainer.recipe.rows // width)
        rows = min(asked.judge_rows, self.held_out.rows)
        with trainer.averaged():
            found = score(trainer.model, self.held_out, rows, count, width, trainer.recipe.batch, trainer.head_rows)
        self.scores.append(found)
        tau = {"offline_tau": round(found.tau, 4), "plain_tau": round(found.plain_tau, 4)}
        memory = {"gigabytes": round(torch.cuda.max_memory_allocated() / 1e9, 1)} if asked.device == "cuda" else {}
        self.say(**tau, agreement=found.agreement, canvases=found.canvases, **memory)

    def save(self) -> None:
        latest = self.scores[-1]
        scores = {"offline_tau": round(latest.tau, 4), "agreement": latest.agreement}
        more = {"steps": str(self.trainer.step), "seconds": str(round(self.elapsed)), "scores": json.dumps(scores)}
        path = self.asked.out / checkpoint.ADAPTER
        # What is handed over first: it takes a seventh of the room.
        checkpoint.export(path, self.trainer.late, self.metadata | more)
        checkpoint.save(self.asked.out, self.trainer, self.elapsed)

    def say(self, **values: Any) -> None:
        line = {"step": self.trainer.step, "seconds": round(self.elapsed, 1), **values}
        with (self.asked.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        print("  ".join(f"{name} {value}" for name, value in line.items()), flush=True)


def _origin(asked: argparse.Namespace) -> dict[str, str]:
    """What the adapter's metadata says of base, data and recipe."""
    with safe_open(asked.weights / "weights.safetensors", framework="pt") as file:
        base = (file.metadata() or {}).get("source", "")
    begun: dict[str, str] = {}
    if asked.start:
        with safe_open(asked.start, framework="pt") as file:
            begun = file.metadata() or {}
        if begun.get("base") != base:
            raise EngineError(f"{asked.start} belongs to {begun.get('base')}, not to {base}; start from another.")
    digest = asked.base_sha256 or begun.get("base_sha256", "")
    if not digest:
        raise EngineError("Give --base-sha256, the SHA-256 of the base's GGUF file: the adapter is bound to it.")
    recipe = store.index(asked.samples)["recipe"]
    return {
        "base": base,
        "base_sha256": digest,
        "version": asked.version or datetime.now(UTC).strftime("%Y%m%d"),
        "begun_from": begun.get("version", ""),
        "recipe": Recipe.of(asked).to_json(),
        "corpus": recipe["corpus"],
        "samples": json.dumps(recipe),
        "licence": "Apache-2.0",
    }


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dlsp train adapter", description="Train a canvas adapter.")
    add = parser.add_argument
    add("--samples", type=Path, required=True, metavar="DIR", help="what `dlsp train samples` made")
    add("--weights", type=Path, required=True, metavar="DIR", help="the base, converted: weights.safetensors in it")
    add("--out", type=Path, required=True, metavar="DIR", help="the run's folder; resumed if there")
    add("--from", dest="start", type=Path, metavar="FILE", help="an adapter to start from")
    add("--base-sha256", default="", metavar="HEX", help="of the base's GGUF file (default: as --from has it)")
    add("--version", default="", help="the adapter's name for itself (default: the date)")
    add("--minutes", type=float, default=0, help="training time in all, resumed runs included")
    add("--steps", type=int, default=0, help="steps in all; whichever budget is used up first ends the run")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    add("--float32", action="store_true", help="the base in float32 instead of bf16")
    add("--threads", type=int, default=0, help="of the CPU (default: all)")
    add("--compile", action="store_true", help="compile the layers with torch.compile")
    add("--recompute", action="store_true", help="spend time instead of memory on activations")
    add("--head-rows", type=int, default=0, help="rows of logits held at once (default 128, on a GPU 4096)")
    add("--judge-minutes", type=float, default=10, help="between scores on held-out samples (default %(default)s)")
    add("--judge-rows", type=int, default=16, help="held-out samples of a score (default %(default)s)")
    add("--save-minutes", type=float, default=5, help="between checkpoints (default %(default)s)")
    add("--every-step", action="store_true", help="say every step's loss")
    Recipe.add_to(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    asked = options().parse_args(arguments)
    if max(asked.minutes, asked.steps) <= 0:
        sys.exit("Give a budget: --minutes, --steps or both.")
    if asked.threads:
        torch.set_num_threads(asked.threads)
    try:
        run = Run(asked)
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, lambda *_: setattr(run, "stopped", True))
        run.train()
    except (EngineError, OSError, SafetensorError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped before the first step.")
    if run.stopped:
        sys.exit(f"Stopped after step {run.trainer.step}: run this again to go on.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
