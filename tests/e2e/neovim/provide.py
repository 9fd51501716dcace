"""Real Neovims without touching the machine: `python -m tests.e2e.neovim.provide`.

They lie under dlsp's cache folder. What cannot be had is said loudly, and its tests count as not run.
"""

import os
import sys
import time
from functools import partial
from pathlib import Path

from dlsp import paths
from tests.e2e.debian import relink, unpacked
from tests.e2e.provide import Missing, announce, provide, run

SUITES = {"0.10": "trixie", "0.12": "forky"}


def nvim(version: str) -> Path:
    """The program of Neovim `version` (major.minor), provided if need be; raises Missing."""
    place = paths.cache_dir() / "editors" / f"neovim-{version}"

    def make(scratch: Path, deadline: float) -> Path:
        root = unpacked("Neovim", ["neovim"], SUITES[version], scratch, deadline)
        relink(root / "usr/bin/nvim", root)
        _check(root / "usr/bin/nvim", version)
        relink(root / "usr/bin/nvim", place)
        return root

    program = provide(place, make) / "usr/bin/nvim"
    _check(program, version)
    return program


def _check(program: Path, version: str) -> None:
    says = run([str(program), "--version"], time.monotonic() + 30, environment={**os.environ, "LC_ALL": "C"})
    if not says.startswith(f"NVIM v{version}."):
        raise Missing(f"Neovim {version} is wanted, and Debian has {says.splitlines()[0]} now.")


if __name__ == "__main__":
    sys.exit(announce({f"Neovim {version}": partial(nvim, version) for version in SUITES}))
