"""`dlsp bench`: the benchmark of the source checkout."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import dlsp
from dlsp.cli._common import add_module, run_module
from dlsp.errors import UserError

CHECKOUT = Path(dlsp.__file__).parents[1]


def add(subparsers: Any) -> None:
    """Register `dlsp bench …` with argparse's sub-parsers; the benchmark parses the remaining arguments itself."""
    add_module(subparsers, "bench", "measure latency and quality here (in a source checkout)").set_defaults(run=run)


def run(args: Namespace) -> int:
    if not (CHECKOUT / "bench" / "__main__.py").is_file():
        raise UserError(
            "The benchmark is not part of the installed package: clone the repository, run `pip install -e '.[bench]'` "
            "in it, and then `dlsp bench`."
        )
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return run_module("bench", args.arguments, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
