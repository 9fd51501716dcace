"""The server's log: one file in the state folder for all editors, rotated. Never text of a document unless asked.

A thread writes it: nobody who logs waits for the disk.
"""

import logging
import os
from logging.handlers import QueueHandler, QueueListener, RotatingFileHandler
from queue import SimpleQueue

from dlsp.errors import UserError
from dlsp.paths import state_dir

SERVER_LOG = "server.log"
MAX_SERVER_LOG_BYTES = 1_000_000
SERVER_LOGS_KEPT = 3


class SharedFile(RotatingFileHandler):
    """A rotating file that several processes write to: each follows when another one has rotated it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.stream and not self._is_current(self.stream.fileno()):
                self.stream.close()
                self.stream = self._open()
        except (OSError, ValueError):
            return  # as for a full disk, below
        super().emit(record)

    def _is_current(self, opened: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.baseFilename), os.fstat(opened))
        except OSError:
            return False

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk costs the line and nothing else."""


class BackgroundHandler(QueueHandler):
    """Hands records to a thread that writes them to `file`; `close` waits until they are written."""

    def __init__(self, file: logging.Handler) -> None:
        super().__init__(SimpleQueue())
        self._file = file
        self._listener: QueueListener | None = QueueListener(self.queue, file)
        self._listener.start()

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        record.message = record.msg = record.getMessage()  # now: arguments may change before the thread formats them
        record.args = None
        return record

    def close(self) -> None:
        listener, self._listener = self._listener, None
        if listener:
            listener.stop()
            self._file.close()
        super().close()


def background_file(
    name: str, max_bytes: int, kept: int, formatter: logging.Formatter | None = None
) -> BackgroundHandler | None:
    """A handler that writes to a file of the state folder, of which `kept` older ones are kept; None if there is no
    folder that can be written."""
    try:
        file = SharedFile(state_dir() / name, maxBytes=max_bytes, backupCount=kept, encoding="utf-8", delay=True)
    except (OSError, UserError):
        return None
    file.setFormatter(formatter)
    return BackgroundHandler(file)


def begin() -> BackgroundHandler | None:
    """Log to the file from now on, until the handler is closed; None if there is no folder that can be written."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it logs whole messages, and with them documents
    logger = logging.getLogger("dlsp")
    logger.setLevel(logging.INFO)
    logger.propagate = False  # standard error is for what breaks
    formatter = logging.Formatter("%(asctime)s [%(process)d] %(message)s")
    handler = background_file(SERVER_LOG, MAX_SERVER_LOG_BYTES, SERVER_LOGS_KEPT, formatter)
    if handler:
        logger.addHandler(handler)
    return handler


def tail(lines: int) -> list[str]:
    """The last lines of the log, none if there is no log."""
    try:
        with (state_dir() / SERVER_LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 200 * lines))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except (OSError, UserError):
        return []
