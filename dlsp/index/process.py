"""Start the process that keeps an index."""

import logging
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

WAIT_S = 1
log = logging.getLogger(__name__)


class Keeper:
    """The process of one workspace; it ends when `stop` is called, and by itself when this process ends."""

    def __init__(self, root: Path, globs: tuple[str, ...] = ()) -> None:
        self._stopped = False
        self._process = subprocess.Popen(
            # -P: the project's own files are no modules of ours, whatever their names.
            [sys.executable, "-P", "-m", "dlsp.index", str(root), *globs],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),
        )
        threading.Thread(target=self._tell, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """At once, not waiting for the end of what it reads; the index bears that."""
        assert self._process.stdin is not None
        self._stopped = True
        self._process.stdin.close()
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):  # it runs when nobody else does, and ends so too
            self._process.wait(WAIT_S)

    def _tell(self) -> None:
        """Log an end that nobody asked for; not what the process said, which might hold text of a document."""
        code = self._process.wait()
        if not self._stopped:
            log.warning("the index process ended by itself (%d): other files are seen as it left them", code)


def is_workspace(root: Path) -> bool:
    """Whether to index the folder: nobody wants a walk through a home folder or the whole disk."""
    root = root.absolute()
    home = Path.home()
    return root.is_dir() and root != home and root not in home.parents
