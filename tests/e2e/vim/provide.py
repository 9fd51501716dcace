"""Debian's Vim and curl without touching the machine: `python -m tests.e2e.vim.provide`.

They lie under dlsp's cache folder. Where they cannot be had that is said loudly, and their tests count as not run.
"""

import os
import sys
import time
from pathlib import Path

from dlsp import paths
from tests.e2e.debian import relink, unpacked
from tests.e2e.provide import Missing, announce, provide, run

VERSION, SUITE = "9.1", "trixie"
PROGRAM, CURL, RUNTIME = "usr/bin/vim.basic", "usr/bin/curl", "usr/share/vim/vim91"
# What a plugin with ghost text and requests needs.
NEEDED = ("+job", "+channel", "+textprop")


def vim() -> Path:
    """The folder with the programs, provided if need be; raises Missing."""
    place = paths.cache_dir() / "editors" / f"vim-{VERSION}"

    def make(scratch: Path, deadline: float) -> Path:
        root = unpacked("Vim", ["vim", "curl"], SUITE, scratch, deadline)
        for at in (root, place):
            for program in (PROGRAM, CURL):
                relink(root / program, at)
            if at == root:
                _check(root)
        return root

    provide(place, make)
    _check(place)
    return place


def environment(root: Path) -> dict[str, str]:
    """Where a Vim that is not installed finds its parts, and its curl."""
    return {**os.environ, "VIMRUNTIME": str(root / RUNTIME), "DLSP_CURL": str(root / CURL)}


def _check(root: Path) -> None:
    says = run([root / PROGRAM, "--version"], time.monotonic() + 30, environment=environment(root))
    if VERSION not in says.splitlines()[0] or not all(each in says for each in NEEDED):
        raise Missing(f"Vim {VERSION} with {', '.join(NEEDED)} is wanted, and Debian has another one now.")


if __name__ == "__main__":
    sys.exit(announce({f"Vim {VERSION}": vim}))
