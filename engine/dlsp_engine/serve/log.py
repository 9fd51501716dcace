"""The engine's log. It goes to standard error, which the process that starts the engine redirects to a file. The file
stays short, however long the engine runs.
"""

import logging
import os
from contextlib import suppress
from pathlib import Path

MAX_LOG_BYTES = 500_000  # of the log file, and as much again of older text in `.1`


class Bounded(logging.StreamHandler):
    """A handler that logs to standard error. If that is the file `path` and it has grown beyond MAX_LOG_BYTES, its last
    MAX_LOG_BYTES go to `path` with `.1` added, and the file is emptied.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._bound()

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self._bound()

    def _bound(self) -> None:
        with suppress(OSError):  # standard error is closed, or not a file
            error = self.stream.fileno()
            found = os.fstat(error)
            if found.st_size > MAX_LOG_BYTES and os.path.samestat(found, self._path.stat()):
                self._keep_the_last()
                os.ftruncate(error, 0)  # it was opened for appending, so the next line goes to its new start

    def _keep_the_last(self) -> None:
        with suppress(OSError):  # a full disk, or too many open files
            with self._path.open("rb") as file:
                file.seek(-MAX_LOG_BYTES, os.SEEK_END)
                last = file.read()
            before = os.open(f"{self._path}.1", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(before, "wb") as file:
                file.write(last)
