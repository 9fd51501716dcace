"""`python -m dlsp_engine.train.adapter`: trains a canvas adapter on a CPU or one NVIDIA GPU."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.weights import Weights
from dlsp_engine.train import checkpoint, store
from dlsp_engine.train.model import CanvasModel, Parameters
from dlsp_engine.train.recipe import Recipe
from dlsp_engine.train.run import HEAD_ROWS, Run, add_options, base_of, command, shipped_bytes
from dlsp_engine.train.score import score
from dlsp_engine.train.segments import START
from dlsp_engine.train.store import Samples
from dlsp_engine.train.trainer import CanvasTrainer

# The most pairs that an adapter carries: less than 5 MB.
MAX_PAIRS = 420_000
# Bytes of a pair, and of a token of the vocabulary.
ENTRY_BYTES = 8


def counted(samples: Samples, vocab: int, room: int) -> Bigrams:
    """Count the pairs within the segments of all training samples. Returns the most frequent ones, as many as fit into
    `room` bytes.
    """
    first, second = [], []
    for tokens, marks in samples.shards():
        within = (marks[:, 1:] & START) == 0
        first.append(tokens[:, :-1][within])
        second.append(tokens[:, 1:][within])
    most = min(MAX_PAIRS, max(0, room // ENTRY_BYTES - vocab - 1))
    return Bigrams.counted(np.concatenate(first), np.concatenate(second), vocab, most)


class AdapterRun(Run[CanvasTrainer]):
    """A training run that produces `adapter.safetensors`."""

    FILE = checkpoint.ADAPTER

    def __init__(self, arguments: argparse.Namespace) -> None:
        device = torch.device(arguments.device)
        torch.manual_seed(arguments.seed)
        weights = Weights.load(arguments.weights, torch.float32 if arguments.float32 else torch.bfloat16)
        start = arguments.start
        parameters = Parameters.load(start, weights) if start else Parameters(weights, arguments.rank)
        arguments.rank = parameters.rank
        model = CanvasModel(weights, parameters.to(device), arguments.recompute, arguments.compile)
        samples = Samples(arguments.samples, "train")
        metadata = _origin(arguments)
        room = checkpoint.room(parameters, shipped_bytes(metadata["base"], ".infill-update.safetensors"))
        parameters.bigrams = counted(samples, weights.architecture.vocab, room)
        trainer = CanvasTrainer(model, samples, Recipe.of(arguments), arguments.head_rows or HEAD_ROWS[device.type])
        self.held_out = Samples(arguments.samples, "heldout")
        super().__init__(arguments, trainer, metadata)

    def judge(self) -> dict[str, Any]:
        trainer, arguments = self.trainer, self.arguments
        width = trainer.recipe.width(0)
        count = max(1, trainer.recipe.rows // width)
        rows = min(arguments.judge_rows, self.held_out.rows)
        with trainer.averaged():
            found = score(trainer.model, self.held_out, rows, count, width, trainer.recipe.batch, trainer.head_rows)
        tau = {"offline_tau": round(found.tau, 4), "plain_tau": round(found.plain_tau, 4)}
        memory = {"gigabytes": round(torch.cuda.max_memory_allocated() / 1e9, 1)} if arguments.device == "cuda" else {}
        self.say(**tau, agreement=found.agreement, canvases=found.canvases, **memory)
        return {"offline_tau": tau["offline_tau"], "agreement": found.agreement}


def _origin(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the part of the adapter's metadata that names its base, data and recipe."""
    base, begun = base_of(arguments.weights, arguments.start, arguments.base_sha256)
    recipe = store.index(arguments.samples)["recipe"]
    return base | {
        "version": arguments.version or datetime.now(UTC).strftime("%Y%m%d"),
        "begun_from": begun.get("version", ""),
        "recipe": Recipe.of(arguments).to_json(),
        "corpus": recipe["corpus"],
        "samples": json.dumps(recipe),
        "licence": "Apache-2.0",
    }


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dlsp train adapter", description="Train a canvas adapter.")
    add = parser.add_argument
    add("--samples", type=Path, required=True, metavar="DIR", help="what `dlsp train samples` made")
    add_options(parser)
    add("--compile", action="store_true", help="compile the layers with torch.compile")
    add("--recompute", action="store_true", help="spend time instead of memory on activations")
    add("--judge-rows", type=int, default=16, help="held-out samples of a score (default %(default)s)")
    Recipe.add_to(parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return command(options().parse_args(arguments), AdapterRun)


if __name__ == "__main__":
    sys.exit(main())
