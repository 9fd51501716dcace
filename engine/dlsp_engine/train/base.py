"""`python -m dlsp_engine.train.base`: trains an infill update of the base on a CPU or one NVIDIA GPU."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from dlsp_engine.errors import EngineError
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ModelTokenizer
from dlsp_engine.train import checkpoint, fill_store, packed
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fill_store import StoredFills
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
        recipe, device = _recipe(arguments), torch.device(arguments.device)
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
        fills, held = (_fills(arguments, recipe, split) for split in ("train", "heldout"))
        self.held_out = held.held_out(arguments.judge_gaps)
        chunk = arguments.head_rows or HEAD_ROWS[device.type]
        way = packed.way(device, arguments.compile)
        trainer = FillTrainer(weights, parameters.to(device), fills, recipe, device, chunk, way)
        super().__init__(arguments, trainer, metadata)

    def judge(self) -> dict[str, Any]:
        trainer = self.trainer
        found = judge(trainer.weights, trainer.late, self.held_out, trainer.device)
        scores = {kind: one.rounded() for kind, one in found.items()}
        self.say(**scores)
        return scores


def _recipe(arguments: argparse.Namespace) -> FillRecipe:
    """Return the recipe to train by. Raises EngineError if the stored gaps were drawn by another."""
    stored = FillRecipe.of(fill_store.recipe(arguments.fills, "infill")) if arguments.fills else None
    recipe = FillRecipe.read(arguments.recipe or "infill-cpu") if arguments.recipe or not stored else stored
    if stored:
        fill_store.same_gaps(arguments.fills, stored, recipe)
    return replace(recipe, rank=arguments.rank or recipe.rank)


def _fills(arguments: argparse.Namespace, recipe: FillRecipe, split: str) -> Fills | StoredFills:
    if arguments.fills:
        return StoredFills(arguments.fills, split, recipe.tokens)
    documents = Documents(arguments.corpus, split, recipe.seed, recipe.held_out)
    return Fills(documents, ModelTokenizer(arguments.weights), recipe)


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
        "corpus": fill_store.made(arguments.fills)["corpus"] if arguments.fills else manifest_hash(arguments.corpus),
        "canvas_adapters": json.dumps([]),
        "licence": "Apache-2.0",
    }


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dlsp train base", description="Train an infill update of the base.")
    add = parser.add_argument
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--corpus", type=Path, metavar="DIR", help="what `dlsp train corpus` built")
    source.add_argument("--fills", type=Path, metavar="DIR", help="what `dlsp train fills` made")
    add("--recipe", default="", help="its name or a JSON file (default infill-cpu, or the recipe of --fills)")
    add("--rank", type=int, default=0, help="of the update (default: the recipe's)")
    add_options(parser)
    add("--compile", action="store_true", help="compile the layers with torch.compile, for --fills")
    add("--judge-gaps", type=int, default=9, help="held-out gaps of each kind in a score (default %(default)s)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return command(options().parse_args(arguments), BaseRun)


if __name__ == "__main__":
    sys.exit(main())
