"""How late an event loop's timers are: `python -m bench.heartbeat FILE [--server FOLDER]`.

Runs an event loop with a timer each millisecond and writes to FILE when each beat came and how late it was. The loop
has nothing else to do, until the end of the standard input: what it shows is the machine. With `--server` it is the
loop of dlsp's own server on standard input and output, and whatever that looks at below FOLDER takes 20 ms, as on a
slow disk.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from dlsp.server import transport

BEAT_S = 0.001
SLOW_DISK_S = 0.02
# Calls that read from the disk, as Python's audit events name them; `os.stat` has none.
DISK_EVENTS = frozenset({"open", "os.listdir", "os.scandir"})


class Heartbeat:
    """Beats on the running loop. `beats` are the clock time of each (seconds), its lateness, and how much of that the
    thread waited for a processor (milliseconds; 0 where the system does not say)."""

    def __init__(self) -> None:
        self.beats: list[tuple[float, float, float]] = []
        self._loop = asyncio.get_running_loop()
        self._waited_ms = _waited_ms()
        self._next()

    def _next(self) -> None:
        self._due = time.monotonic() + BEAT_S
        self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        now, waited_ms = time.monotonic(), _waited_ms()
        self.beats.append((now, 1e3 * (now - self._due), waited_ms - self._waited_ms))
        self._waited_ms = waited_ms
        self._next()


def _waited_ms() -> float:
    """How long this thread has been ready to run without a processor, since its start."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_bytes().split()[1]) / 1e6
    except OSError:
        return 0.0


def slow_disk(folder: str) -> None:
    """Make what this process looks at below `folder` take SLOW_DISK_S from now on."""
    stat = os.stat

    def slow(path: Any) -> None:
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(folder):
            time.sleep(SLOW_DISK_S)

    def slow_stat(path: Any, *given: Any, **named: Any) -> os.stat_result:
        slow(path)
        return stat(path, *given, **named)

    os.stat = slow_stat
    sys.addaudithook(lambda event, given: slow(given[0]) if event in DISK_EVENTS else None)


async def bare() -> list[tuple[float, float, float]]:
    """The beats of a loop with nothing to do, until the end of the input."""
    heart = Heartbeat()
    await asyncio.to_thread(sys.stdin.buffer.read)
    return heart.beats


def served(folder: str) -> list[tuple[float, float, float]]:
    """The beats of the server's loop, until it ends."""
    hearts, build = list[Heartbeat](), transport.build

    def with_heartbeat() -> Any:
        hearts.append(Heartbeat())
        return build()

    transport.build = with_heartbeat
    slow_disk(folder)
    transport.serve()
    return hearts[0].beats


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.heartbeat", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--server", metavar="FOLDER")
    asked = parser.parse_args()
    beats = served(asked.server) if asked.server else asyncio.run(bare())
    asked.file.write_text(json.dumps(beats))


if __name__ == "__main__":
    main()
