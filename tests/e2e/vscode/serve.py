"""VS Code's server side as a process: code-server with the extension installed, for one browser."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from dlsp import paths
from tests.e2e.vscode.provide import Editor
from tests.e2e.waiting import until

START_S = 40
OPTIONS = (
    *("--bind-addr", "127.0.0.1:0", "--auth", "none"),
    *("--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"),
)


def environment(editor: Editor, folder: Path, state: Path, bare: bool) -> dict[str, str]:
    """That of the tests: own files in `folder`, the state folder `state`, and `dlsp` on PATH unless `bare`."""
    return {
        **editor.node.environment,
        "DLSP_STATE_DIR": str(state),
        "PATH": os.environ["PATH"] if bare else f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **{f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "STATE")},
        "DLSP_CACHE_DIR": str(paths.cache_dir()),
    }


class Served:
    """Started by its making, with these extensions; `folder` is for its own files. The settings are in its `user/User`
    already."""

    def __init__(
        self, editor: Editor, extensions: Sequence[Path], folder: Path, environment: Mapping[str, str]
    ) -> None:
        environment = {**environment, "LANG": "C.UTF-8", "VSCODE_CLI": "1"}  # else it takes PATH from a login shell
        places = {"--config": "config.yaml", "--user-data-dir": "user", "--extensions-dir": "ext"}
        own = [part for option, place in places.items() for part in (option, folder / place)]
        command = [editor.node.program, editor.entry, *own]
        install = [*command, *(part for each in extensions for part in ("--install-extension", each))]
        subprocess.run(install, env=environment, check=True, capture_output=True, timeout=120)
        self._log = folder / "server.log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [*command, *OPTIONS], env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self.pid = self._process.pid

    def address(self, project: Path) -> str:
        """Where a browser finds it, with the folder `project` open; waits until it listens."""
        said = until(lambda: re.search(r"listening on (http\S+)", self.log()), "code-server listens", START_S, self.log)
        return f"{said[1]}?folder={quote(str(project))}"

    def log(self) -> str:
        """The end of what it logged."""
        return self._log.read_text()[-2000:]

    def end(self) -> None:
        """End it and all processes of its session."""
        os.killpg(self.pid, signal.SIGTERM)
        self._process.wait(20)
