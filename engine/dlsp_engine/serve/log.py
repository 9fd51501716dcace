"""The engine's log: standard error, which its starter lets go to a file. The file stays short, however long it runs."""

import logging
import os
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 500_000  # of the file, and as much of what stood in it before


class Bounded(logging.StreamHandler):
    """Logs to standard error. Where that is the file `path`, the file begins anew when it has grown too long, and what
    was last in it goes to `path` with `.1` added."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._bound()

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._bound()

    def _bound(self) -> None:
        with suppress(OSError):  # standard error is closed, or no file
            error = self.stream.fileno()
            found = os.fstat(error)
            if found.st_size > MOST_BYTES and os.path.samestat(found, self._path.stat()):
                self._keep_the_last()
                os.ftruncate(error, 0)  # it was opened to append

    def _keep_the_last(self) -> None:
        with suppress(OSError):  # a full disk, or too many open files
            with self._path.open("rb") as file:
                file.seek(-MOST_BYTES, os.SEEK_END)
                last = file.read()
            before = os.open(f"{self._path}.1", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(before, "wb") as file:
                file.write(last)
