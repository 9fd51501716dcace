"""`python -m dlsp_engine.train.corpus`: builds the training corpus from public registries."""

import argparse
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from filelock import FileLock, Timeout
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dlsp_engine.errors import EngineError, exit_on_error

from . import manifest, shards
from .build import SPLITS, Build, Order, split_of
from .ledger import Entry, Ledger
from .overlap import Overlap
from .sources import debian, npm, pypi

_MB = 1_000_000


def orders(python_mb: float, other_mb: float, splits: Sequence[str] = SPLITS) -> list[Order]:
    """Return what to read, in this order: Python first, then the other languages from their registries and from Debian.
    Only packages of these splits are read.
    """
    result = [Order("python", pypi.SOURCE, pypi.packages, _names("pypi"), int(python_mb * _MB))]
    target = int(other_mb * _MB)
    result.append(Order("javascript", npm.SOURCE, npm.packages, _names("npm"), target))
    groups = ("javascript", "go", "java", "cpp")
    result += [Order(group, debian.SOURCE, debian.sources, _names(f"debian-{group}"), target) for group in groups]
    result.append(Order("rust", debian.SOURCE, debian.binaries, _names("debian-rust"), target))
    return [replace(one, names=[name for name in one.names if split_of(one.group, name) in splits]) for one in result]


def build(out: Path, orders: Sequence[Order]) -> dict[str, dict[str, int]]:
    """Build the corpus in `out`, or continue an unfinished build. Returns bytes by split and language. Raises
    EngineError, OSError.
    """
    evaluation = os.environ.get("DLSP_EVAL_DIR")
    if not evaluation:
        raise EngineError("Set DLSP_EVAL_DIR to the evaluation sets, so that they can be kept out of training.")
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / "lock", timeout=0):
            return _build(out, orders, Path(evaluation))
    except Timeout as error:
        raise EngineError(f"Another run is building {out}: wait for it or end it.") from error


def _build(out: Path, orders: Sequence[Order], evaluation: Path) -> dict[str, dict[str, int]]:
    scratch = out / "downloads"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    work = Build(out, Overlap(evaluation))
    try:
        for order in orders:
            _fill(work, order, scratch)
    finally:
        # Read the ledger from disk again: a signal may have come after a write and before it was noted in memory.
        ledger = Ledger(out / "ledger.jsonl")
        shards.restore(out, ledger.entries)
        totals = manifest.write(out, ledger)["totals"]
        shutil.rmtree(scratch, ignore_errors=True)
    return totals


def _fill(work: Build, order: Order, scratch: Path) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(f"{order.group} from {order.source}", total=max(order.target, 1), note="")

        def report(entry: Entry) -> None:
            kept = work.ledger.kept(order.group)
            progress.update(task, completed=kept, note=f"{kept / _MB:.1f} MB, {entry.name}")

        work.fill(order, scratch, report)


def _names(name: str) -> list[str]:
    return files("dlsp_engine.train.corpus").joinpath("names", f"{name}.txt").read_text("utf-8").split()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="dlsp train corpus", description="Build the training corpus.")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where it goes; resumed if there")
    parser.add_argument("--python-mb", type=float, default=300, metavar="MB", help="Python to keep (default 300)")
    parser.add_argument("--other-mb", type=float, default=20, metavar="MB", help="of each other (default 20)")
    parser.add_argument("--splits", nargs="+", choices=SPLITS, default=SPLITS, help="of packages of these alone")
    options = parser.parse_args(arguments)
    # A stopped run still writes its manifest.
    stopped = "Stopped: run this again to go on."
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(stopped))
    with exit_on_error(stopped):
        totals = build(options.out, orders(options.python_mb, options.other_mb, options.splits))
    for split, sizes in totals.items():
        for language, size in sizes.items():
            print(f"{split:8} {language:11} {size / _MB:8.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
