"""`dlsp bench`: the benchmark of the source checkout, in a process of its own."""

import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import dlsp
from dlsp.errors import UserError

CHECKOUT = Path(dlsp.__file__).parents[1]


def add(subparsers: Any) -> None:
    """Register `dlsp bench …` with argparse's sub-parsers; what follows is read by the benchmark itself."""
    # No argument begins with NUL: all of them, `--help` too, are left to the benchmark.
    bench = subparsers.add_parser(
        "bench", help="measure latency and quality here (in a source checkout)", add_help=False, prefix_chars="\0"
    )
    bench.add_argument("arguments", nargs="*")
    bench.set_defaults(run=run)


def run(args: Namespace) -> int:
    if not (CHECKOUT / "bench" / "__main__.py").is_file():
        raise UserError(
            "The benchmark is not part of the installed package: clone the repository, run `pip install -e '.[bench]'` "
            "in it, and then `dlsp bench`."
        )
    paths = [str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    child = subprocess.Popen([sys.executable, "-m", "bench", *args.arguments], env=environment)
    try:
        return child.wait()
    except KeyboardInterrupt:
        return child.wait()  # the same Ctrl-C has reached it
