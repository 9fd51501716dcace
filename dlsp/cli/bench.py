"""`dlsp bench`: the benchmark of the source checkout."""

import os
from argparse import Namespace
from collections.abc import Sequence
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
    if not _is_checkout():
        raise UserError(
            "The benchmark is not part of the installed package: clone the repository, run `pip install -e '.[bench]'` "
            "in it, and then `dlsp bench`."
        )
    return _run("bench", args.arguments)


def in_checkout(module: str, arguments: Sequence[str], what: str) -> int:
    """Run a module of the benchmark, which prints `what` it measures; without a source checkout, say that it is not."""
    if _is_checkout():
        return _run(module, arguments)
    print(f"{what:14} not measured: that takes a source checkout, as `dlsp bench` does")
    return 0


def _is_checkout() -> bool:
    return (CHECKOUT / "bench" / "__main__.py").is_file()


def _run(module: str, arguments: Sequence[str]) -> int:
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return run_module(module, arguments, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
