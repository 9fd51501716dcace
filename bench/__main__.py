"""The benchmark: `python -m bench all`, or `dlsp bench all`. Each part runs in a process of its own.

A quick run writes to build/quick, so that its small samples never stand in for the results.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.parts import PARTS, Run

ROOT = Path(__file__).parents[1]
QUICK = ROOT / "build" / "quick"
MEND = 2
"""The exit status of a part that lacks something which the user may provide."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or the first bad exit status of a part; in `all`, a part that only lacks something is passed over."""
    parser = _parser()
    asked, own = parser.parse_known_args(arguments)
    if asked.part == "all" and own:
        parser.error(f"`all` takes no arguments of a part: {' '.join(own)}")
    environment = dict(os.environ)
    if asked.quick:
        environment["DLSP_RESULTS_DIR"] = str(QUICK)
    began, statuses = time.monotonic(), []
    try:
        for run, given in _todo(asked.part, asked.quick, own):
            status = _process(run, given, environment)
            if status and not (status == MEND and asked.part == "all"):
                statuses.append(status)
    except KeyboardInterrupt:
        print("Stopped. What was written is kept.", file=sys.stderr)
        return 130
    if asked.part == "all":
        print(f"The whole benchmark took {(time.monotonic() - began) / 60:.1f} minutes.", file=sys.stderr)
    return statuses[0] if statuses else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "dlsp bench", description="Latency and quality, measured here.", allow_abbrev=False
    )
    parser.add_argument("part", choices=(*PARTS, "report", "all"), help="what to measure; `report` draws what was")
    parser.add_argument("--quick", action="store_true", help="a few samples of each, written to build/quick")
    parser.epilog = "Further arguments go to the part itself, in place of its usual ones."
    return parser


def _todo(part: str, quick: bool, own: Sequence[str]) -> Iterator[tuple[Run, Sequence[str]]]:
    """The runs of a part with their arguments; with arguments of the user's, its main one alone."""
    report = Run("bench.report", [], ["--out", str(QUICK / "report")])
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
    command = f"python -m {' '.join([run.module, *arguments])}"
    if not run.there:
        print(f"{run.module} is not part of this checkout: left out.", file=sys.stderr)
        return 0
    print(f"\n$ {command}", file=sys.stderr, flush=True)
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
