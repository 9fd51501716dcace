"""`dlsp train`: build the corpus and samples, train updates and adapters, and evaluate these."""

from argparse import Namespace
from typing import Any

from dlsp.cli._common import add_module, run_module

PARTS = {
    "weights": ("weights", "print the folder of a model's converted weights, in bf16"),
    "corpus": ("corpus", "gather permissive source code from public registries"),
    "samples": ("samples", "turn the corpus into what training reads"),
    "fills": ("fill_samples", "cut gaps, or windows of edits, for training without the corpus"),
    "base": ("base", "train an infill update of the base on a CPU or one NVIDIA GPU"),
    "edits": ("edits", "train an edit update on mined edits and refactorings"),
    "adapter": ("adapter", "train a canvas adapter on a CPU or one NVIDIA GPU"),
    "eval": ("evaluate", "measure an adapter on held-out gaps"),
}


def add(subparsers: Any) -> None:
    """Register `dlsp train …` with argparse's sub-parsers; the engine's module parses the remaining arguments
    itself."""
    parts = subparsers.add_parser("train", help="train updates and canvas adapters").add_subparsers(
        required=True, metavar="PART"
    )
    for name, (module, help) in PARTS.items():
        add_module(parts, name, help).set_defaults(run=run, module=f"dlsp_engine.train.{module}")


def run(args: Namespace) -> int:
    return run_module(args.module, args.arguments)
