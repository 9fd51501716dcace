"""An editor in a terminal, driven as its user would: keys in, the screen out."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pexpect
import pyte

from tests.e2e.waiting import until

SIZE = 24, 100


class Terminal:
    def __init__(self, command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> None:
        """`environment` is that of the command but for what a terminal says of itself."""
        self._screen = pyte.Screen(*reversed(SIZE))
        self._stream = pyte.ByteStream(self._screen)
        known = {**environment, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        program, *words = map(str, command)
        self._process = pexpect.spawn(program, words, env=known, cwd=folder, dimensions=SIZE)

    def close(self) -> None:
        self._process.close(force=True)

    def keys(self, keys: str) -> None:
        """Type, key by key."""
        for key in keys:
            self._process.send(key)
            self._read(0.05)

    def screen(self) -> str:
        self._read(0)
        return "\n".join(line.rstrip() for line in self._screen.display)

    def until_shown(self, text: str, seconds: float = 30) -> None:
        self.until(lambda: text in self.screen(), f"{text!r} is on the screen", seconds)

    def until(self, happened: Callable[[], bool], what: str, seconds: float = 30) -> None:
        until(happened, what, seconds, self.screen)

    def _read(self, seconds: float) -> None:
        """Draw what has come, and what comes within so long without a pause."""
        try:
            while True:
                self._stream.feed(self._process.read_nonblocking(65536, timeout=seconds))
        except (pexpect.TIMEOUT, pexpect.EOF):
            pass
