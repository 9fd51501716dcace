"""A real Emacs with Company, without touching the machine: `python -m tests.e2e.emacs.provide`.

It lies under dlsp's cache folder. Where it cannot be had that is said loudly, and its tests count as not run.
"""

import os
import shutil
import sys
import time
from pathlib import Path

from dlsp import paths
from tests.e2e.debian import relink, unpacked
from tests.e2e.provide import Missing, announce, provide, run

VERSION, SUITE = "30.1", "trixie"
PROGRAM = "usr/bin/emacs-nox"
LISP, ADDED = f"usr/share/emacs/{VERSION}/lisp", "usr/share/emacs/site-lisp/elpa-src"
# What Emacs came with to compile itself further, which the tests do without: most of the space.
COMPILER = "usr/lib/gcc", "usr/lib/llvm", "usr/include", "usr/libexec/gcc"


def emacs() -> Path:
    """The folder with the program, provided if need be; raises Missing."""
    place = paths.cache_dir() / "editors" / f"emacs-{VERSION}"

    def make(scratch: Path, deadline: float) -> Path:
        root = unpacked("Emacs", ["emacs-nox", "elpa-company"], SUITE, scratch, deadline)
        for folder in COMPILER:
            shutil.rmtree(root / folder, ignore_errors=True)
        relink(root / PROGRAM, root)
        _check(root)
        relink(root / PROGRAM, place)
        return root

    provide(place, make)
    _check(place)
    return place


def command(root: Path) -> list[str]:
    return [str(root / PROGRAM), f"--dump-file={next(_data(root).glob('*.pdmp'))}"]


def environment(root: Path) -> dict[str, str]:
    """Where an Emacs that is not installed finds its parts."""
    lisp = [folder for folder, *_ in os.walk(root / LISP)] + [str(path) for path in (root / ADDED).glob("*")]
    etc = str((root / LISP).with_name("etc"))
    return {
        "EMACSLOADPATH": os.pathsep.join(lisp),
        "EMACSDATA": etc,
        "EMACSDOC": etc,
        "EMACSPATH": str(_data(root)),
    }


def _data(root: Path) -> Path:
    return next((root / f"usr/libexec/emacs/{VERSION}").iterdir())


def _check(root: Path) -> None:
    known = {**os.environ, **environment(root)}
    words = [*command(root), "-Q", "--batch", "--eval", "(progn (require 'company) (princ emacs-version))"]
    says = run(words, time.monotonic() + 60, environment=known).strip()
    if says != VERSION:
        raise Missing(f"Emacs {VERSION} is wanted, and Debian has {says} now.")


if __name__ == "__main__":
    sys.exit(announce({f"Emacs {VERSION}": emacs}))
