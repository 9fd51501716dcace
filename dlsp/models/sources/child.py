"""A download in a child process, whose progress can be watched and which can be aborted."""

import errno
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlsp.models.sources import Unavailable

POLL_S = 0.1


def download(
    command: Sequence[str],
    env: Mapping[str, str],
    log: Path,
    size: Callable[[], int],
    report: Callable[[int], None],
    stall_s: float | None = None,
) -> None:
    """Run `command`; call `report` with `size()`, the bytes so far, as it grows.

    Raises Unavailable with the last line of the command's output if it fails, or if nothing arrives for `stall_s`
    seconds; raises OSError ENOSPC if the disk is full.
    """
    with log.open("wb") as words:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=words, stderr=words, env={**os.environ, **env}
        )
        try:
            _watch(child, size, report, stall_s)
        finally:
            child.kill()
            child.wait()
    if child.returncode:
        said = log.read_text(errors="replace")
        if os.strerror(errno.ENOSPC) in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(log.parent))
        raise Unavailable(f"failed ({_last(said)})")


def _watch(
    child: subprocess.Popen[bytes],
    size: Callable[[], int],
    report: Callable[[int], None],
    stall_s: float | None,
) -> None:
    most, since = size(), time.monotonic()
    while child.poll() is None:
        if (now := size()) > most:
            most, since = now, time.monotonic()
            report(now)
        elif stall_s is not None and time.monotonic() - since > stall_s:
            raise Unavailable(f"stopped sending for {stall_s:.0f} s")
        try:
            child.wait(POLL_S)
        except subprocess.TimeoutExpired:
            continue


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ")[:200] if lines else "without a word"
