"""`python -m bench.day.server FILE`: `dlsp serve --stdio` whose clocks are ahead of the real ones.

FILE holds the seconds as a C double; it is mapped, so that another process can set the clocks forward while this one
runs.
"""

import mmap
import sys
import time
from pathlib import Path

BYTES = 8


class Clock:
    """The other side: `ahead_s` of the servers that were started with `file`."""

    def __init__(self, file: Path) -> None:
        file.write_bytes(bytes(BYTES))
        self._ahead = _mapped(file)

    def forward(self, seconds: float) -> None:
        self._ahead[0] += seconds


def _mapped(file: Path) -> "memoryview[float]":
    with file.open("r+b") as opened:
        return memoryview(mmap.mmap(opened.fileno(), BYTES)).cast("d")


def _set_ahead(ahead: "memoryview[float]") -> None:
    """Have `time.monotonic` and `time.time`, which asyncio reads too, say so many seconds more."""
    for name in ("monotonic", "time"):
        real = getattr(time, name)
        setattr(time, name, lambda real=real: real() + ahead[0])


def main() -> int:
    _set_ahead(_mapped(Path(sys.argv[1])))
    from dlsp import cli

    return cli.main(["serve", "--stdio"])


if __name__ == "__main__":
    sys.exit(main())
