"""An empty home folder, and what a new user does in it."""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from tests.e2e.neovim.neovim import SIZE, Neovim
from tests.e2e.neovim.rpc import Rpc
from tests.e2e.neovim.screen import Screen
from tests.e2e.vscode.code import Code
from tests.e2e.vscode.provide import Editor
from tests.e2e.vscode.settings import View

COMMAND_S = 1800
KEPT = ("LANG", "TZ", "TMPDIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


class Home:
    """Use as `with Home(folder) as home`: what was started in it ends with it. pipx is the only program installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        pipx = folder / ".local/bin/pipx"
        pipx.parent.mkdir(parents=True)
        pipx.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pipx "$@"\n')
        pipx.chmod(0o755)
        self.environment = {
            "HOME": str(folder),
            "PIPX_DEFAULT_BACKEND": "pip",  # as where there is no uv
            "PATH": f"{pipx.parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            # pip's settings say where packages come from on this machine.
            **{name: value for name, value in os.environ.items() if name.startswith("PIP_") or name in KEPT},
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if (self.folder / ".local/bin/dlsp").exists():
            self.run("dlsp engine stop")

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """A line in a shell, standard error with its output."""
        command = ["/bin/sh", "-c", line]
        out = subprocess.PIPE
        return subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )

    def must(self, line: str) -> str:
        """What a line printed that must not fail."""
        done = self.run(line)
        assert done.returncode == 0, f"$ {line}\n{done.stdout}"
        return done.stdout

    def install_plugin(self, archive: Path) -> None:
        """As the plugin's README says."""
        packages = self.folder / ".local/share/nvim/site/pack/dlsp/start"
        packages.mkdir(parents=True)
        with tarfile.open(archive) as tar:
            tar.extractall(packages, filter="data")

    def neovim(self, program: Path, file: Path) -> Neovim:
        return PlainNeovim(program, self, file)

    def code(self, editor: Editor, vsix: Path, project: Path) -> Code:
        """VS Code on a folder, with the extension from its file and dlsp's settings as they ship."""
        path = os.pathsep.join([self.environment["PATH"], str(editor.node.program.parent)])
        folder = self.folder / "vscode"
        view = View(settings={"dlsp.suggest": "auto"})
        return Code(editor, vsix, folder, project, self.environment | {"PATH": path}, view=view)


class PlainNeovim(Neovim):
    """Without options or settings: the plugin comes from the home's folder for packages, dlsp from PATH."""

    def __init__(self, program: Path, home: Home, file: Path) -> None:
        self._size, self.drawn = SIZE, Screen()
        runtime = {"VIMRUNTIME": f"{program.parents[1]}/share/nvim/runtime"}
        self.rpc = Rpc([program, "--embed", file], home.environment | runtime, self.drawn.redraw)


def megabytes(folders: Iterable[Path]) -> int:
    """What the files of folders take on disk, each once; links are not followed."""
    found = {}
    for folder in folders:
        for each in (folder, *folder.rglob("*")):
            stat = each.lstat()
            found[stat.st_dev, stat.st_ino] = stat.st_blocks * 512
    return round(sum(found.values()) / 1e6)
