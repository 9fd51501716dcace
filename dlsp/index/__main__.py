"""`python -m dlsp.index ROOT [GLOB...]`: keep the index of a workspace true until standard input is closed."""

import sys
import threading
from pathlib import Path

from dlsp.index.keep import keep


def main() -> None:
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.buffer.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    keep(Path(sys.argv[1]), tuple(sys.argv[2:]), stop)


if __name__ == "__main__":
    main()
