"""A real Helix in a terminal, driven as its user would: keys in, the screen and the saved file out."""

import json
import os
import sys
from pathlib import Path
from typing import Any, Self

import pexpect
import pyte

from tests.e2e.waiting import until

SIZE = 24, 100
TAB, ENTER, ESCAPE, CTRL_X = "\t", "\r", "\x1b", "\x18"
LANGUAGES = """
[language-server.dlsp]
command = "dlsp"
args = ["serve", "--stdio"]
config = { suggest = "eager" }

[[language]]
name = "python"
language-servers = ["dlsp"]
"""


class Helix:
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
        self._screen = pyte.Screen(*reversed(SIZE))
        self._stream = pyte.ByteStream(self._screen)
        environment = {
            **os.environ,
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
            "XDG_CONFIG_HOME": str(folder),
            "XDG_CACHE_HOME": str(folder),
            "HELIX_RUNTIME": str(program.parent / "runtime"),
            "DLSP_STATE_DIR": str(state),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        self._terminal = pexpect.spawn(str(program), [str(file)], env=environment, cwd=file.parent, dimensions=SIZE)

    def __enter__(self) -> Self:
        self.until_shown(file_name := self._file.name)
        self.keys("ge")
        self.keys("A")
        self.until_shown("INS")
        assert file_name in self.screen()
        return self

    def __exit__(self, *_: object) -> None:
        self._terminal.close(force=True)

    def escape(self) -> None:
        """To normal mode, the menu gone. Escape with another key close behind would be Alt and that key."""
        self.keys(ESCAPE)
        self.until_shown("NOR")

    def keys(self, keys: str) -> None:
        """Type, key by key."""
        for key in keys:
            self._terminal.send(key)
            self._read(0.05)

    def screen(self) -> str:
        self._read(0)
        return "\n".join(line.rstrip() for line in self._screen.display)

    def until_shown(self, text: str, seconds: float = 30) -> None:
        self.until(lambda: text in self.screen(), f"{text!r} is on the screen", seconds)

    def until(self, happened: Any, what: str, seconds: float = 30) -> None:
        until(happened, what, seconds, self.screen)

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

    def _read(self, seconds: float) -> None:
        """Draw what has come, and what comes within so long without a pause."""
        try:
            while True:
                self._stream.feed(self._terminal.read_nonblocking(65536, timeout=seconds))
        except (pexpect.TIMEOUT, pexpect.EOF):
            pass
