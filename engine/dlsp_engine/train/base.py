"""`python -m dlsp_engine.train.base`: trains an infill update of the base on a CPU or one NVIDIA GPU."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from dlsp_engine.errors import EngineError
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ModelTokenizer
from dlsp_engine.train import checkpoint
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fill_trainer import FillTrainer, judge
from dlsp_engine.train.fills import Fills
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.recipe import FillRecipe
from dlsp_engine.train.run import HEAD_ROWS, Run, add_options, base_of, command, shipped_bytes
from dlsp_engine.train.samples import manifest_hash


class BaseRun(Run[FillTrainer]):
    """A training run that produces `infill-update.safetensors`."""

    FILE = checkpoint.UPDATE

    def __init__(self, arguments: argparse.Namespace) -> None:
        """Raises EngineError if the weights already contain an infill update: updates are not stacked."""
        recipe, device = FillRecipe.read(arguments.recipe), torch.device(arguments.device)
        metadata = _origin(arguments, recipe)
        torch.manual_seed(recipe.seed)
        weights = Weights.load(arguments.weights, torch.float32 if arguments.float32 else torch.bfloat16)
        shape = weights.architecture
        parameters = LowRanks.read(arguments.start, shape) if arguments.start else LowRanks(shape, recipe.rank)
        if parameters.rank != recipe.rank:
            raise EngineError(
                f"{arguments.start} has rank {parameters.rank}, the recipe {recipe.rank}; start from another."
            )
        checkpoint.room(parameters, shipped_bytes(metadata["base"], ".safetensors"))
        tokenizer = ModelTokenizer(arguments.weights)
        held = Documents(arguments.corpus, "heldout", recipe.seed, recipe.held_out)
        self.held_out = Fills(held, tokenizer, recipe).held_out(arguments.judge_gaps)
        fills = Fills(Documents(arguments.corpus, "train", recipe.seed, recipe.held_out), tokenizer, recipe)
        chunk = arguments.head_rows or HEAD_ROWS[device.type]
        super().__init__(arguments, FillTrainer(weights, parameters.to(device), fills, recipe, device, chunk), metadata)

    def judge(self) -> dict[str, Any]:
        trainer = self.trainer
        found = judge(trainer.weights, trainer.late, self.held_out, trainer.device)
        scores = {kind: one.rounded() for kind, one in found.items()}
        self.say(**scores)
        return scores


def _origin(arguments: argparse.Namespace, recipe: FillRecipe) -> dict[str, str]:
    """Return the part of the update's metadata that names its base, data and recipe."""
    base, begun = base_of(arguments.weights, arguments.start, arguments.base_sha256)
    if base.pop("update_sha256", ""):
        raise EngineError(
            f"The weights in {arguments.weights} have an infill update in them; give those of the base as published "
            "(`infill_update: false`)."
        )
    return base | {
        "version": arguments.version or datetime.now(UTC).strftime("%Y%m%d"),
        "begun_from": begun.get("version", ""),
        "recipe": recipe.to_json(),
        "corpus": manifest_hash(arguments.corpus),
        "canvas_adapters": json.dumps([]),
        "licence": "Apache-2.0",
    }


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dlsp train base", description="Train an infill update of the base.")
    add = parser.add_argument
    add("--corpus", type=Path, required=True, metavar="DIR", help="what `dlsp train corpus` built")
    add("--recipe", default="infill-cpu", help="the name of a recipe, or a JSON file (default %(default)s)")
    add_options(parser)
    add("--judge-gaps", type=int, default=9, help="held-out gaps of each kind in a score (default %(default)s)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return command(options().parse_args(arguments), BaseRun)


if __name__ == "__main__":
    sys.exit(main())
