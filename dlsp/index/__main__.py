"""`python -m dlsp.index`: keep a workspace's index up to date until standard input is closed.

The first line of standard input is a JSON object: `root`, the workspace's folder, and `globs` to ignore. A command line
would be visible to all users.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from dlsp.index.keep import keep

# Seconds that work in progress gets after standard input is closed; the index survives any end.
GRACE_S = 0.5
_PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>


def main() -> None:
    os.umask(0o077)  # files created from here on are readable by the user only
    _end_with_parent()
    task = json.loads(sys.stdin.buffer.readline() or b"null")
    if task is None:
        return
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        stop.set()
        time.sleep(GRACE_S)
        os._exit(0)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    keep(Path(task["root"]), tuple(task["globs"]), stop)


def _end_with_parent() -> None:
    """Have Linux kill this process when its parent ends, even inside native code.

    On other systems the thread that waits for the end of standard input exits, once the interpreter runs it.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
