"""The benchmark: `python -m bench all`, or `dlsp bench all`. Each part runs in a process of its own.

The sizes of `parts` are small ones. What they give is written to build/bench, or build/quick, and `report` draws it
from there: it never stands in for what larger runs have left in bench/results. `all` begins anew.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.command import MEND, STOPPED, WRITTEN
from bench.parts import PARTS, Run

ROOT = Path(__file__).parents[1]
USUAL, QUICK = ROOT / "build" / "bench", ROOT / "build" / "quick"


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or the exit status of a part that failed, else 2 if one lacked something; `all` runs them all."""
    parser = _parser()
    asked, own = parser.parse_known_args(arguments)
    if asked.part == "all" and own:
        parser.error(f"`all` takes no arguments of a part: {' '.join(own)}")
    folder = QUICK if asked.quick else USUAL
    environment = dict(os.environ) if own else {**os.environ, "DLSP_RESULTS_DIR": str(folder)}
    if asked.part == "all":
        shutil.rmtree(folder, ignore_errors=True)
    took: list[Took] = []
    try:
        for run, given in _todo(asked.part, asked.quick, own, folder):
            began = time.monotonic()
            status = _process(run, given, environment)
            took.append(Took(run.command(given), time.monotonic() - began, status))
    except KeyboardInterrupt:
        print(WRITTEN, file=sys.stderr)
        return STOPPED
    if asked.part == "all":
        print(table(took), file=sys.stderr)
        print(unmeasured(took), end="", file=sys.stderr)
    return next(
        (one.status for one in took if one.status not in (0, MEND)), max((one.status for one in took), default=0)
    )


@dataclass(frozen=True)
class Took:
    """What one part of the benchmark took, and its exit status."""

    command: str
    seconds: float
    status: int


def table(took: Sequence[Took]) -> str:
    """How long each part took, with the exit statuses that are not 0, and the whole."""
    lines = [
        f"{one.seconds / 60:8.1f}  {one.command}" + (f" (exit status {one.status})" if one.status else "")
        for one in took
    ]
    whole = sum(one.seconds for one in took) / 60
    return "\n".join(["", " minutes", *lines, f"{whole:8.1f}  the whole benchmark"])


def unmeasured(took: Sequence[Took]) -> str:
    """The parts that gave no result, a line each for those that lacked something and those that failed."""
    lacking = [one.command for one in took if one.status == MEND]
    failed = [one.command for one in took if one.status not in (0, MEND)]
    lines = [f"Lacked something, as said above: {'; '.join(lacking)}"] if lacking else []
    lines += [f"Failed: {'; '.join(failed)}"] if failed else []
    return "".join(f"{line}\n" for line in lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "dlsp bench", description="Latency and quality, measured here.", allow_abbrev=False
    )
    parser.add_argument("part", choices=(*PARTS, "report", "all"), help="what to measure; `report` draws what was")
    parser.add_argument("--quick", action="store_true", help="a few samples of most, written to build/quick")
    parser.epilog = (
        "Further arguments go to the part itself, in place of its usual ones; it works in bench/results then, and not "
        "in build/bench."
    )
    return parser


def _todo(part: str, quick: bool, own: Sequence[str], folder: Path) -> Iterator[tuple[Run, Sequence[str]]]:
    """The runs of a part with their arguments; with arguments of the user's, its main one alone."""
    out = ["--out", str(folder / "report")]
    report = Run("bench.report", out, out)
    parts = {**PARTS, "report": (report,)}
    for name in parts if part == "all" else [part]:
        if own:
            yield _main_run(parts[name]), own
            continue
        for run in parts[name]:
            arguments = run.quick if quick else run.default
            if arguments is not None:
                yield run, arguments


def _main_run(runs: Sequence[Run]) -> Run:
    """`latency` is of several modules: its arguments are those of the comparison with the peers."""
    return next((run for run in runs if run.module == "bench.peers"), runs[0])


def _process(run: Run, arguments: Sequence[str], environment: dict[str, str]) -> int:
    if not run.there:
        print(f"{run.module} is not part of this checkout: left out.", file=sys.stderr)
        return 0
    print(f"\n$ {run.command(arguments)}", file=sys.stderr, flush=True)
    began = time.monotonic()
    child = subprocess.Popen([sys.executable, "-m", run.module, *arguments], env=environment, cwd=ROOT)
    try:
        status = child.wait()
    except KeyboardInterrupt:
        child.wait()  # the same Ctrl-C has reached it
        raise
    print(f"{time.monotonic() - began:.0f} s, exit status {status}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
