"""A real Helix in a terminal: keys in, the screen and the saved file out."""

import json
import os
import sys
from pathlib import Path
from typing import Self

from tests.e2e.terminal import Terminal

TAB, ENTER, ESCAPE, CTRL_X = "\t", "\r", "\x1b", "\x18"
LANGUAGES = """
[language-server.dlsp]
command = "dlsp"
args = ["serve", "--stdio"]
config = { suggest = "eager", model = "0.5b" }

[[language]]
name = "python"
language-servers = ["dlsp"]
"""


class Helix(Terminal):
    """Use as `with Helix(program, folder, file, state) as helix`; it starts in insert mode at the end of `file`.

    `folder` is for its own files; `state` is the state folder of dlsp.
    """

    def __init__(self, program: Path, folder: Path, file: Path, state: Path) -> None:
        own = folder / "helix"
        own.mkdir(parents=True)
        (own / "languages.toml").write_text(LANGUAGES)
        self._file = file
        self._decisions = state / "decisions.jsonl"
        self._decisions.unlink(missing_ok=True)
        environment = {
            **os.environ,
            "XDG_CONFIG_HOME": str(folder),
            "XDG_CACHE_HOME": str(folder),
            "HELIX_RUNTIME": str(program.parent / "runtime"),
            "DLSP_STATE_DIR": str(state),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        super().__init__([program, file], file.parent, environment)

    def __enter__(self) -> Self:
        self.until_shown(file_name := self._file.name)
        self.keys("ge")
        self.keys("A")
        self.until_shown("INS")
        assert file_name in self.screen()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def escape(self) -> None:
        """To normal mode, the menu gone. Escape with another key close behind would be Alt and that key."""
        self.keys(ESCAPE)
        self.until_shown("NOR")

    def wait_for_server(self) -> None:
        """Until an engine had to do with an answer, as Helix asks where insert mode begins. It is sent away."""
        self.until(self._answered, "the engine answers")
        self.escape()
        self.keys("a")
        self.until_shown("INS")

    def _answered(self) -> bool:
        self.keys(CTRL_X)
        last = self._decisions.read_text().splitlines()[-1:] if self._decisions.exists() else []
        return bool(last) and json.loads(last[0])["quiet"] not in ("loading", "failed")

    def saved(self) -> str:
        """The text, as Helix writes it."""
        self._file.unlink()
        self.escape()
        self.keys(f":w!{ENTER}")
        self.until(self._file.exists, "the file is saved")
        self.until(lambda: "written" in self.screen(), "the file is saved")
        return self._file.read_text()
