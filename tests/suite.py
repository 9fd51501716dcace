"""Runs all tests but the long ones, and those that failed once more, alone: what a busy machine did is told from what
is broken.

`python -m tests.suite` runs two tests at a time, from different files, and then one at a time those of the real model,
which computes on every core. It exits 0 if all pass, and prints each that passed only when run once more as UNSTEADY:
such a test, or what it tests, is to be mended. It runs none again and exits 1 where more than MOST_TESTS failed, or
where pytest itself could not go on.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST_TESTS = 5
ROOT = Path(__file__).parents[1]
FAILED = ".pytest_cache/v/cache/lastfailed"  # pytest's own note of what failed
RUNS = (("-n", "2", "-m", "not model and not prove"), ("-m", "model and not prove"))


def main() -> int:
    note = ROOT / FAILED
    note.unlink(missing_ok=True)
    for run in RUNS:
        if _pytest(*run) not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return 1
    failed = list(json.loads(note.read_text())) if note.exists() else []
    if any(".py" not in each for each in failed):  # one of the two processes by its name: they found other tests
        return 1
    if not failed:
        return 0
    if len(failed) > MOST_TESTS:
        return 1
    print(f"\nOnce more, alone: {len(failed)} of the tests failed.", flush=True)
    if _pytest("--last-failed", "--last-failed-no-failures=none"):
        return 1
    print("\n".join(f"UNSTEADY {each}: failed, and passed when run once more" for each in failed))
    return 0


def _pytest(*arguments: str) -> int:
    """Its exit status."""
    return subprocess.call([sys.executable, "-m", "pytest", *arguments], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
