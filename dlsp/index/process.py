"""Start the process that keeps an index."""

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

WAIT_S = 1
# Seconds to the next start after an end that nobody asked for; after each further one twice as long.
AGAIN_S = 10.0
MOST_AGAIN_S = 300.0
# A process that ran for so many seconds is no reason to wait longer the next time.
HEALTHY_S = 60.0
log = logging.getLogger(__name__)


class Keeper:
    """The process of one workspace; it ends when `stop` is called, and by itself when this process ends. It is started
    again if it ends else."""

    def __init__(self, root: Path, globs: tuple[str, ...] = ()) -> None:
        # -P: the project's own files are no modules of ours, whatever their names.
        self._command = [sys.executable, "-P", "-m", "dlsp.index", str(root)]
        self._globs = json.dumps(globs).encode() + b"\n"
        self._stopped, self._starting = threading.Event(), threading.Lock()
        self._process = self._begin()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """At once, not waiting for the end of what it reads; the index bears that."""
        with self._starting:
            self._stopped.set()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # it runs when nobody else does, and ends so too
            self._process.wait(WAIT_S)

    def _begin(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
        )

    def _tell(self) -> None:
        """Hand over the globs, which may have to wait until the process reads."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):  # it has ended, or was stopped
            self._process.stdin.write(self._globs)
            self._process.stdin.flush()

    def _watch(self) -> None:
        """Log an end that nobody asked for; not what the process said, which might hold text of a document."""
        pause = AGAIN_S
        while True:
            began = time.monotonic()
            self._tell()
            code = self._process.wait()
            if self._stopped.is_set():
                return
            if time.monotonic() - began > HEALTHY_S:
                pause = AGAIN_S
            log.warning("the index process ended by itself (%d): it starts again in %.0f s", code, pause)
            self._stopped.wait(pause)
            pause = min(2 * pause, MOST_AGAIN_S)
            with self._starting:
                if self._stopped.is_set():
                    return
                with suppress(OSError):
                    self._process = self._begin()


def is_workspace(root: Path) -> bool:
    """Whether to index the folder: nobody wants a walk through a home folder or the whole disk."""
    root = Path(os.path.realpath(root))
    own = Path(os.path.realpath(paths.home() or "/"))
    return root.is_dir() and root != own and root not in own.parents
