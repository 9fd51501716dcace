"""A training run in a folder: optimizer steps until a budget is used up, with scores and checkpoints in between."""

import argparse
import json
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import safe_open

from dlsp_engine.engine import ADAPTERS
from dlsp_engine.errors import EngineError, exit_on_error
from dlsp_engine.train import checkpoint
from dlsp_engine.train.trainer import Trainer

HEAD_ROWS = {"cpu": 128, "cuda": 4096}
LOG_INTERVAL_S = 20.0

AnyTrainer = TypeVar("AnyTrainer", bound=Trainer[Any])


class Run(ABC, Generic[AnyTrainer]):
    """A run whose folder holds `log.jsonl`, `checkpoint.pt` and the file that the engine loads; the last two are from
    the latest save. If there is a checkpoint, the run resumes from it.
    """

    FILE = ""  # name of the file that the engine loads

    def __init__(self, arguments: argparse.Namespace, trainer: AnyTrainer, metadata: dict[str, str]) -> None:
        """Raises EngineError if the folder has a run with other settings."""
        self.arguments = arguments
        self.trainer = trainer
        self.metadata = metadata
        arguments.out.mkdir(parents=True, exist_ok=True)
        self.before, self.taught = checkpoint.resume(arguments.out, trainer)
        # The latest scores, for the metadata. A resumed run goes on without new ones: on a CPU they take minutes.
        self.scores = _saved_scores(arguments.out / self.FILE) if trainer.step else {}
        self.began = time.monotonic()
        self.stopped = False

    @abstractmethod
    def judge(self) -> dict[str, Any]:
        """Score the trained parameters on held-out data, log the scores, and return those for the metadata."""

    @property
    def elapsed(self) -> float:
        """Seconds of training so far, in all runs in this folder."""
        return self.before + time.monotonic() - self.began

    def progress(self) -> float:
        """Return the share of the budget that is used up."""
        parts = [self.trainer.step / self.arguments.steps] if self.arguments.steps else []
        parts += [self.elapsed / 60 / self.arguments.minutes] if self.arguments.minutes else []
        return max(parts)

    def train(self) -> None:
        arguments, trainer = self.arguments, self.trainer
        self.scores = self.scores or self.judge()
        logged = saved = judged = time.monotonic()
        losses, taught, rows = [], 0, 0
        while (progress := self.progress()) < 1 and not self.stopped:
            step = trainer.advance(trainer.recipe.rate(trainer.step, progress))
            losses.append(step.loss)
            taught, rows, self.taught = taught + step.taught, rows + step.rows, self.taught + step.taught
            now = time.monotonic()
            if arguments.every_step or now - logged > LOG_INTERVAL_S:
                self.say(
                    loss=round(sum(losses) / len(losses), 6),
                    norm=round(step.norm, 3),
                    taught=self.taught,
                    taught_per_second=round(taught / (now - logged), 1),
                    rows_per_second=round(rows / (now - logged)),
                )
                logged, losses, taught, rows = now, [], 0, 0
            judging = now - judged > 60 * arguments.judge_minutes
            if judging or now - saved > 60 * arguments.save_minutes:
                self.save()  # also before a score, which takes long on a CPU: a kill must lose nothing
                saved = time.monotonic()
            if judging:
                self.scores = self.judge()
                judged = time.monotonic()
        self.save()
        if not self.stopped:
            self.scores = self.judge()
            self.save()

    def save(self) -> None:
        more = {
            "steps": str(self.trainer.step),
            "tokens": str(self.taught),
            "seconds": str(round(self.elapsed)),
            "scores": json.dumps(self.scores),
        }
        # The engine's file first: it needs only a seventh of the space.
        checkpoint.export(self.arguments.out / self.FILE, self.trainer.late, self.metadata | more)
        checkpoint.save(self.arguments.out, self.trainer, self.elapsed, self.taught)

    def say(self, **values: Any) -> None:
        line = {"step": self.trainer.step, "seconds": round(self.elapsed, 1), **values}
        with (self.arguments.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        print("  ".join(f"{name} {value}" for name, value in line.items()), flush=True)


def _saved_scores(path: Path) -> dict[str, Any]:
    """Return the scores in the metadata of a file that a run saved."""
    with safe_open(path, framework="pt") as file:
        return json.loads((file.metadata() or {}).get("scores", "{}"))


def base_of(weights: Path, start: Path | None, digest: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return `base`, `base_sha256` and, if the converted weights contain an infill update, `update_sha256`, for the
    metadata of a trained file; and all metadata of the file `start`. Raises EngineError if `start` belongs to another
    base, or if no hash of the base is known.
    """
    with safe_open(weights / "weights.safetensors", framework="pt") as file:
        metadata = file.metadata() or {}
    begun: dict[str, str] = {}
    base, update = metadata.get("source", ""), metadata.get("update", "")
    if start:
        with safe_open(start, framework="pt") as file:
            begun = file.metadata() or {}
        if begun.get("base") != base:
            raise EngineError(f"{start} belongs to {begun.get('base')}, not to {base}; start from another.")
    digest = digest or begun.get("base_sha256", "")
    if not digest:
        raise EngineError("Give --base-sha256, the SHA-256 of the base's GGUF file: what is trained is bound to it.")
    return {"base": base, "base_sha256": digest, **({"update_sha256": update} if update else {})}, begun


def shipped_bytes(base: str, ending: str) -> int:
    """Return the size of the file with this ending that ships for `base`, in bytes; 0 if there is none."""
    path = ADAPTERS / f"{Path(base).stem}{ending}"
    return path.stat().st_size if path.exists() else 0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that all training commands take."""
    add = parser.add_argument
    add("--weights", type=Path, required=True, metavar="DIR", help="the base, converted: weights.safetensors in it")
    add("--out", type=Path, required=True, metavar="DIR", help="the run's folder; resumed if there")
    add("--from", dest="start", type=Path, metavar="FILE", help="what another run left, to start from")
    add("--base-sha256", default="", metavar="HEX", help="of the base's GGUF file (default: as --from has it)")
    add("--version", default="", help="its name for itself (default: the date)")
    add("--minutes", type=float, default=0, help="training time in all, resumed runs included")
    add("--steps", type=int, default=0, help="steps in all; whichever budget is used up first ends the run")
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    add("--float32", action="store_true", help="the base in float32 instead of bf16")
    add("--threads", type=int, default=0, help="of the CPU (default: all)")
    add("--head-rows", type=int, default=0, help="rows of logits held at once (default 128, on a GPU 4096)")
    add("--judge-minutes", type=float, default=10, help="between scores on held-out samples (default %(default)s)")
    add("--save-minutes", type=float, default=5, help="between checkpoints (default %(default)s)")
    add("--every-step", action="store_true", help="say every step's loss")


def command(arguments: argparse.Namespace, make: Callable[[argparse.Namespace], Run[Any]]) -> int:
    """Create the run and train. Returns the exit status. If a signal asks it to end, it saves the run and says how to
    continue.
    """
    if max(arguments.minutes, arguments.steps) <= 0:
        sys.exit("Give a budget: --minutes, --steps or both.")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    with exit_on_error("Stopped before the first step."):
        run = make(arguments)
        for stop in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop, lambda *_: setattr(run, "stopped", True))
        run.train()
    if run.stopped:
        sys.exit(f"Stopped after step {run.trainer.step}: run this again to go on.")
    return 0
