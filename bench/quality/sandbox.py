"""Running programs that nobody has read: see `jail` for what they may do, which is to compute."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dlsp.errors import UserError

JAIL = Path(__file__).parent / "jail"
GRACE_S = 5


class Unsafe(UserError):
    """Programs cannot be contained here; the message says what to do."""


@dataclass(frozen=True)
class Limits:
    """What one program may use; `wall_s` counts sleeping, too.

    Some of SAFIM's own solutions take 6 seconds of a slow processor.
    """

    cpu_s: int = 20
    wall_s: float = 60
    memory_mb: int = 1024


@dataclass(frozen=True)
class Verdict:
    """`why` is `passed`, the name of the exception that ended the program, `timeout` or `killed`."""

    why: str

    @property
    def passed(self) -> bool:
        return self.why == "passed"


def run(program: str, limits: Limits | None = None) -> Verdict:
    """Run a program to its end, its limits or its first exception. Nothing of it is left afterwards."""
    return Verdict(_jailed(program, limits or Limits())["why"])


@cache
def layers() -> tuple[str, ...]:
    """What contains a program on this machine, of: limits, guard, namespaces, nobody, landlock."""
    return tuple(_jailed("", Limits())["layers"])


def _jailed(program: str, limits: Limits) -> dict[str, Any]:
    options = (limits.cpu_s, limits.wall_s, limits.memory_mb << 20)
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(JAIL), *map(str, options)]
    with tempfile.TemporaryDirectory(prefix="jail-") as empty:
        process = subprocess.Popen(
            command,
            cwd=empty,
            env={},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            source = program.encode("utf-8", "surrogatepass")
            answers, _ = process.communicate(source, timeout=limits.wall_s + GRACE_S)
        except BaseException as error:
            # Its process is not reaped yet, so the group is still its own.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                return {"why": "timeout", "layers": []}
            raise
    if not answers:
        raise Unsafe("The sandbox could not be started; run `python -m bench.quality` on Linux or macOS.")
    answer = json.loads(answers.splitlines()[0])
    if answer["why"] == "refused":
        raise Unsafe("Programs run by root cannot be contained here: run the bench as an ordinary user.")
    return answer
