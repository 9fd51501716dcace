"""Start and supervise the process that keeps an index up to date."""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from dlsp import paths

STOP_WAIT_S = 1
# Seconds until the process is restarted after an unexpected exit; doubled each time, up to MAX_RESTART_DELAY_S.
RESTART_DELAY_S = 10.0
MAX_RESTART_DELAY_S = 300.0
# After a run of this many seconds, the delay starts again from RESTART_DELAY_S.
HEALTHY_S = 60.0
log = logging.getLogger(__name__)


class Keeper:
    """The index process of one workspace. It ends with `stop` or with this process, and is restarted after an
    unexpected exit."""

    def __init__(self, root: Path, globs: tuple[str, ...] = ()) -> None:
        # -P keeps the project's own files from being imported, whatever their names. What is private is sent to the
        # standard input, since all users of the machine can read a command line.
        self._command = [sys.executable, "-P", "-m", "dlsp.index"]
        self._task = json.dumps({"root": str(root), "globs": globs}).encode() + b"\n"
        self._stopped, self._starting = threading.Event(), threading.Lock()
        self._process = self._begin()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """End the process at once, without waiting for what it reads; the index survives that."""
        with self._starting:
            self._stopped.set()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # it has idle priority, so it may also end late
            self._process.wait(STOP_WAIT_S)

    def _begin(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
        )

    def _tell(self) -> None:
        """Send what to index; this may block until the process reads it."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended or was stopped
            self._process.stdin.write(self._task)
            self._process.stdin.flush()

    def _watch(self) -> None:
        """Restart the process after an unexpected exit and log that, without its output, which might hold document
        text."""
        pause = RESTART_DELAY_S
        while True:
            began = time.monotonic()
            self._tell()
            code = self._process.wait()
            if self._stopped.is_set():
                return
            if time.monotonic() - began > HEALTHY_S:
                pause = RESTART_DELAY_S
            log.warning("the index process ended by itself (%d): it starts again in %.0f s", code, pause)
            self._stopped.wait(pause)
            pause = min(2 * pause, MAX_RESTART_DELAY_S)
            with self._starting:
                if self._stopped.is_set():
                    return
                with suppress(OSError):
                    self._process = self._begin()


def is_workspace(root: Path) -> bool:
    """Whether to index the folder; a home folder or the whole disk is not indexed."""
    root = Path(os.path.realpath(root))
    own = Path(os.path.realpath(paths.home() or "/"))
    return root.is_dir() and root != own and root not in own.parents
