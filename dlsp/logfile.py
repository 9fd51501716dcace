"""The server's log: one rotating file in the state folder for all editors, without document text unless configured.

A background thread writes it, so that logging never waits for the disk.
"""

import logging
import os
import threading
from collections import deque
from logging.handlers import RotatingFileHandler

from dlsp.errors import UserError
from dlsp.paths import state_dir

SERVER_LOG = "server.log"
MAX_SERVER_LOG_BYTES = 1_000_000
SERVER_LOGS_KEPT = 3
# Seconds for which lines are gathered before they are written.
GATHER_S = 0.1


class SharedFile(RotatingFileHandler):
    """A rotating file that several processes write to: each reopens it after another one has rotated it."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self.stream and not self._is_current(self.stream.fileno()):
                self.stream.close()
                self.stream = self._open()
        except (OSError, ValueError):
            return  # handled as in `handleError`
        super().emit(record)

    def _is_current(self, opened: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.baseFilename), os.fstat(opened))
        except OSError:
            return False

    def handleError(self, record: logging.LogRecord) -> None:
        """On a full disk only this line is lost."""


class BackgroundHandler(logging.Handler):
    """Passes records to a thread that writes them to `file`; `close` waits until they are written.

    The thread wakes for the first of several records and writes them all GATHER_S later, so that it does not run while
    a request is answered.
    """

    def __init__(self, file: logging.Handler) -> None:
        super().__init__()
        self._file = file
        self._pending: deque[logging.LogRecord] = deque()
        self._has_records, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        record.message = record.msg = record.getMessage()  # format now: arguments may change before the thread runs
        record.args = None
        self._pending.append(record)
        if not self._has_records.is_set():
            self._has_records.set()

    def close(self) -> None:
        if not self._closing.is_set():
            self._closing.set()
            self._has_records.set()
            self._thread.join()
            self._file.close()
        super().close()

    def _work(self) -> None:
        closing = False
        while not closing:
            self._has_records.wait()
            self._closing.wait(GATHER_S)
            self._has_records.clear()
            closing = self._closing.is_set()  # asked here: what is set from now on wakes the thread again
            while self._pending:
                self._file.handle(self._pending.popleft())


def background_file(
    name: str, max_bytes: int, kept: int, formatter: logging.Formatter | None = None
) -> BackgroundHandler | None:
    """A handler for a file in the state folder, of which `kept` rotated ones are kept; None if no folder is
    writable."""
    try:
        file = SharedFile(state_dir() / name, maxBytes=max_bytes, backupCount=kept, encoding="utf-8", delay=True)
    except (OSError, UserError):
        return None
    file.setFormatter(formatter)
    return BackgroundHandler(file)


def begin() -> BackgroundHandler | None:
    """Start logging to the file until the handler is closed; None if the state folder is not writable."""
    logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)  # it logs whole messages, which contain documents
    logger = logging.getLogger("dlsp")
    logger.setLevel(logging.INFO)
    logger.propagate = False  # standard error is for failures
    formatter = logging.Formatter("%(asctime)s [%(process)d] %(message)s")
    handler = background_file(SERVER_LOG, MAX_SERVER_LOG_BYTES, SERVER_LOGS_KEPT, formatter)
    if handler:
        logger.addHandler(handler)
    return handler


def tail(lines: int) -> list[str]:
    """The last lines of the log; empty if there is no log."""
    try:
        with (state_dir() / SERVER_LOG).open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 200 * lines))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except (OSError, UserError):
        return []
