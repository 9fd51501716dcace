"""`dlsp model`: download and check model files."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from dlsp.cli._common import add_group
from dlsp.engine import local
from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, DEFAULT, find


def add(subparsers: Any) -> None:
    """Register `dlsp model …` with argparse's sub-parsers."""
    commands = (
        ("pull", pull, "fetch a model's file unless it is here"),
        ("list", list_, "what there is, and what of it is here"),
        ("path", path, "print where a model's file lies"),
        ("verify", verify, "hash a model's file anew"),
    )
    parsers = add_group(subparsers, "model", "bring model files here and look after them", commands)
    for name in ("pull", "path", "verify"):
        parsers[name].add_argument(
            "name", nargs="?", default=DEFAULT.short, metavar="NAME", help=f"default: {DEFAULT.short}"
        )
    parsers["pull"].add_argument("--from", type=Path, dest="source", metavar="PATH", help="a local file or folder")


def pull(args: Namespace) -> int:
    from dlsp.models.progress import Terminal
    from dlsp.models.pull import pull as bring

    local.require()  # installing the engine also brings what downloading needs, and only the engine reads the file
    model = find(args.name)
    try:
        with Terminal() as progress:
            file = bring(model, args.source, progress)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 130
    print(f"{model.short} is ready: {file}")
    return 0


def list_(args: Namespace) -> int:
    for model in CATALOGUE:
        try:
            store.path(model)
            here = "here"
        except store.ModelMissing:
            here = "damaged" if store.place(model).exists() else "not here"
        size = f"{model.size / 1e6:,.0f} MB"
        print(f"{model.short:5} {size:>9}  {here:9} {model.licence:11} {store.place(model)}")
    return 0


def path(args: Namespace) -> int:
    print(store.path(find(args.name)))
    return 0


def verify(args: Namespace) -> int:
    from dlsp.models.progress import Terminal

    model = find(args.name)
    with Terminal() as progress:
        store.verify(model, progress)
    print(f"{model.short} is right: SHA-256 {model.sha256}")
    return 0
