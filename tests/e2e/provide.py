"""What providing an editor needs: programs run within a time limit, and a reason where something cannot be had."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

# How long providing one editor may take.
LIMIT_S = 300
# How long a reason why it cannot be had holds, before it is tried again.
AGAIN_S = 900
REASONS = 6


class Missing(Exception):
    """Why something cannot be had, in one sentence."""


def run(
    command: Sequence[str | Path],
    deadline: float,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """What the command printed; raises Missing if it fails or is not done by `deadline` (of time.monotonic)."""
    name = " ".join([Path(command[0]).name, *(str(part) for part in command[1:2])])
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=max(1, deadline - time.monotonic()),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"`{name}` was not done in time.") from None
    except OSError as error:
        raise Missing(f"`{name}` cannot be run ({error.strerror}).") from None
    if done.returncode:
        why = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()] or ["no reason given"]
        raise Missing(f"`{name}` failed: " + " | ".join(why[-REASONS:]))
    return done.stdout


def provide(place: Path, make: Callable[[Path, float], Path]) -> Path:
    """The folder `place`, made if need be, by one process at a time; raises Missing.

    `make(scratch, deadline)` makes it in a scratch folder beside it and returns it.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    said = place.with_name(f"{place.name}.missing")
    try:
        with FileLock(f"{place}.lock", timeout=LIMIT_S):
            if place.exists():
                return place
            if said.exists() and time.time() - said.stat().st_mtime < AGAIN_S:
                raise Missing(said.read_text())
            try:
                with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
                    make(Path(scratch), time.monotonic() + LIMIT_S).rename(place)
            except Missing as why:
                said.write_text(str(why))
                raise
            said.unlink(missing_ok=True)
            return place
    except Timeout:
        raise Missing(f"another process has been providing it for more than {LIMIT_S} seconds.") from None


def announce(editors: Mapping[str, Callable[[], Path]]) -> int:
    """Provide each and say where it is, or loudly that it is not there; 1 if one is missing, else 0."""
    missing = 0
    for name, get in editors.items():
        try:
            print(f"{name}: {get()}")
        except (Missing, AssertionError) as why:
            missing = 1
            print(f"NOT THERE: {name}, so its tests will not run. {why}", file=sys.stderr)
    return missing
