"""`python -m dlsp_engine.train.edits`: trains an edit update, which teaches the base to write windows anew."""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from dlsp_engine.errors import EngineError
from dlsp_engine.model.weights import Weights
from dlsp_engine.text.tokenizer import ModelTokenizer
from dlsp_engine.train import checkpoint, fill_store, packed
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fill_samples import digest
from dlsp_engine.train.fill_store import StoredFills
from dlsp_engine.train.fill_trainer import FillTrainer
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.model import LowRanks
from dlsp_engine.train.packed import Packed
from dlsp_engine.train.recipe import EditRecipe
from dlsp_engine.train.run import HEAD_ROWS, Run, add_options, base_of, command
from dlsp_engine.train.windows import Windows


class EditRun(Run[FillTrainer]):
    """A training run that produces `edit-update.safetensors`, for the base with the infill update that is in it."""

    FILE = checkpoint.EDIT_UPDATE

    def __init__(self, arguments: argparse.Namespace) -> None:
        recipe, device = _recipe(arguments), torch.device(arguments.device)
        base, begun = base_of(arguments.weights, arguments.start, arguments.base_sha256)
        metadata = base | {
            "version": arguments.version or datetime.now(UTC).strftime("%Y%m%d"),
            "begun_from": begun.get("version", ""),
            "recipe": recipe.to_json(),
            "edits": fill_store.made(arguments.fills)["edits"]
            if arguments.fills
            else " ".join(map(digest, arguments.edits)),
            "licence": "Apache-2.0",
        }
        torch.manual_seed(recipe.seed)
        weights = Weights.load(arguments.weights, torch.float32 if arguments.float32 else torch.bfloat16)
        shape = weights.architecture
        parameters = LowRanks.read(arguments.start, shape) if arguments.start else LowRanks(shape, recipe.rank)
        windows, held = (_windows(arguments, recipe, split) for split in ("train", "heldout"))
        self.held_out = held.held_out(arguments.judge_windows)
        chunk = arguments.head_rows or HEAD_ROWS[device.type]
        way = packed.way(device, arguments.compile)
        trainer = FillTrainer(weights, parameters.to(device), windows, recipe, device, chunk, way)
        super().__init__(arguments, trainer, metadata)

    def judge(self) -> dict[str, Any]:
        trainer = self.trainer
        found = judge(trainer.weights, trainer.late, self.held_out, trainer.device)
        scores = {kind: {name: round(value, 4) for name, value in asdict(one).items()} for kind, one in found.items()}
        self.say(**scores)
        return scores


@dataclass
class Judged:
    """Scores on held-out windows of one kind, with teacher forcing: the number of windows, the mean loss in nats per
    token that changes, the share of such tokens that are predicted right, the share of windows of which all tokens
    are, and the share in which a token that should stay would change.
    """

    windows: int = 0
    nats: float = 0.0
    right: float = 0.0
    whole: float = 0.0
    false: float = 0.0


@torch.no_grad()
def judge(weights: Weights, parameters: LowRanks, held: Sequence[Fill], device: torch.device) -> dict[str, Judged]:
    """Return the scores by kind of window."""
    low, found, changed = parameters.low(weights.dtype), defaultdict(Judged), defaultdict[str, int](int)
    for one in held:
        rows = Packed.of([one], device)
        logits = F.linear(packed.hidden(weights, low, rows), weights.head).float()
        nats, right = F.cross_entropy(logits, rows.targets, reduction="none"), logits.argmax(-1) == rows.targets
        changes = torch.tensor([share == 1 for share in one.shares], device=device)
        right[-1] = True  # an answer also ends where it has come to the end of the window
        score = found[one.kind]
        score.windows += 1
        score.nats += float(nats[changes].sum())
        score.right += int(right[changes].sum())
        score.whole += bool(right.all())
        score.false += not bool(right[~changes].all())
        changed[one.kind] += int(changes.sum())
    for kind, score in found.items():
        score.nats, score.right = score.nats / max(1, changed[kind]), score.right / max(1, changed[kind])
        score.whole, score.false = score.whole / score.windows, score.false / score.windows
    return dict(found)


def _recipe(arguments: argparse.Namespace) -> EditRecipe:
    """Return the recipe to train by. Raises EngineError if the stored windows were drawn by another, or if there is
    nothing to train on.
    """
    if not arguments.fills:
        if not (arguments.edits and arguments.held_out):
            raise EngineError("Give --fills, or --edits and --held-out.")
        return EditRecipe.read(arguments.recipe)
    stored = EditRecipe(**fill_store.recipe(arguments.fills, "edit"))
    recipe = EditRecipe.read(arguments.recipe) if arguments.recipe else stored
    fill_store.same_gaps(arguments.fills, stored, recipe)
    return recipe


def _windows(arguments: argparse.Namespace, recipe: EditRecipe, split: str) -> Windows | StoredFills:
    if arguments.fills:
        return StoredFills(arguments.fills, split, recipe.tokens)
    documents = Documents(arguments.corpus, split, recipe.seed) if arguments.corpus else None
    mined = arguments.edits if split == "train" else arguments.held_out
    return Windows(mined, documents, ModelTokenizer(arguments.weights), recipe)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dlsp train edits", description="Train an edit update of the base.")
    add = parser.add_argument
    add("--fills", type=Path, metavar="DIR", help="what `dlsp train fills --edits` made, in place of the next three")
    add("--edits", type=Path, nargs="+", metavar="FILE", help="mined edits to train on, jsonl.gz")
    add("--held-out", type=Path, nargs="+", metavar="FILE", help="those of other projects, to score on")
    add("--corpus", type=Path, metavar="DIR", help="what `dlsp train corpus` built: refactorings are made up in it")
    add("--recipe", default="", help="its name or a JSON file (default: the built-in one, or the recipe of --fills)")
    add_options(parser)
    add("--compile", action="store_true", help="compile the layers with torch.compile, for --fills")
    add("--judge-windows", type=int, default=12, help="held-out windows of each kind in a score (default %(default)s)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    return command(options().parse_args(arguments), EditRun)


if __name__ == "__main__":
    sys.exit(main())
