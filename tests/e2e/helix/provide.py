"""A real Helix without touching the machine: `python -m tests.e2e.helix.provide`.

It lies under dlsp's cache folder. Where it cannot be had that is said loudly, and its tests count as not run.
"""

import sys
import time
from pathlib import Path

from dlsp import paths
from tests.e2e.debian import relink, unpacked
from tests.e2e.provide import Missing, announce, provide, run

VERSION, SUITE = "25.01", "trixie"
PROGRAM = "usr/lib/hx/hx"


def helix() -> Path:
    """The program, provided if need be; raises Missing."""
    place = paths.cache_dir() / "editors" / f"helix-{VERSION}"

    def make(scratch: Path, deadline: float) -> Path:
        root = unpacked("Helix", ["hx"], SUITE, scratch, deadline)
        relink(root / PROGRAM, root)
        _check(root / PROGRAM)
        relink(root / PROGRAM, place)
        return root

    program = provide(place, make) / PROGRAM
    _check(program)
    return program


def _check(program: Path) -> None:
    says = run([str(program), "--version"], time.monotonic() + 30).strip()
    if not says.startswith(f"helix {VERSION}."):
        raise Missing(f"Helix {VERSION} is wanted, and Debian has {says} now.")


if __name__ == "__main__":
    sys.exit(announce({f"Helix {VERSION}": helix}))
