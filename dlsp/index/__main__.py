"""`python -m dlsp.index ROOT`: keep the index of a workspace true until standard input is closed.

The first line of standard input is a JSON list of globs to ignore: a command line can be read by everybody.
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

# Seconds that are left to what is under way when standard input is closed; the index bears any end.
GRACE_S = 0.5
_PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>


def main() -> None:
    os.umask(0o077)  # what is made from here on is the user's alone
    _end_with_parent()
    globs = json.loads(sys.stdin.buffer.readline() or b"null")
    if globs is None:
        return
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        stop.set()
        time.sleep(GRACE_S)
        os._exit(0)

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    keep(Path(sys.argv[1]), tuple(globs), stop)


def _end_with_parent() -> None:
    """Have Linux kill this process when its parent ends, whatever it is caught in. Elsewhere the thread that waits for
    the end of standard input ends it, as soon as the interpreter gives it its turn."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
