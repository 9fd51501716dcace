"""The server's log: one file in the state folder for all editors, rotated. Never text of a document unless asked."""

import logging
import os
from logging.handlers import RotatingFileHandler

from dlsp import paths
from dlsp.errors import UserError

NAME = "server.log"
MOST_BYTES = 1_000_000
KEPT = 3


class SharedFile(RotatingFileHandler):
    """A rotating file that several processes write to: each follows when another one has rotated it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.stream and not self._same(self.stream.fileno()):
                self.stream.close()
                self.stream = self._open()
        except (OSError, ValueError):
            return  # as for a full disk, below
        super().emit(record)

    def _same(self, opened: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.baseFilename), os.fstat(opened))
        except OSError:
            return False

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk costs the line and nothing else."""


def begin() -> None:
    """Log to the file from now on; without a folder that can be written there is no file."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it logs whole messages, and with them documents
    logger = logging.getLogger("dlsp")
    logger.setLevel(logging.INFO)
    logger.propagate = False  # standard error is for what breaks
    try:
        handler = SharedFile(paths.state_dir() / NAME, maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8")
    except (OSError, UserError):
        return
    handler.setFormatter(logging.Formatter("%(asctime)s [%(process)d] %(message)s"))
    logger.addHandler(handler)


def tail(lines: int) -> list[str]:
    """The last lines of the log, none if there is no log."""
    try:
        with (paths.state_dir() / NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 200 * lines))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except (OSError, UserError):
        return []
