"""The state file of a running engine, by which clients reach it."""

import json
import os
import re
import stat
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from filelock import FileLock, Timeout

from dlsp.errors import UserError
from dlsp.paths import state_dir


@dataclass(frozen=True)
class State:
    """The content of a state file; `started` in seconds since the epoch.

    `birth` distinguishes its process from a later one with the same id, independently of the clock: see
    `processes.birth`.
    """

    address: str
    token: str
    nonce: str
    pid: int
    model: str
    version: str
    started: float
    api: int = 0
    birth: str = ""
    on_server: ClassVar[bool] = False  # whether it is a team's server, see `remote.ServerState`

    @property
    def destination(self) -> str:
        """Where text goes that is sent to this engine, as a user is told. `read` accepts no other addresses."""
        return "this machine"


KINDS: dict[str, Any] = {field.name: int | float if field.type is float else field.type for field in fields(State)}
MAX_STATE_CHARACTERS = 64_000  # of a state file
PORT = r"http://127\.0\.0\.1:\d{1,5}"
ADDRESS = re.compile(PORT if sys.platform == "win32" else rf"unix:/[^\0\n]+|{PORT}")


def read(model: str) -> State | None:
    """The state of the engine of `model`; None if there is no valid state file.

    Only a file owned by this user is accepted, and only an address on this machine, so that text never leaves it.
    """
    try:
        written = json.loads(_own_text(state_dir() / f"engine-{model}.json"))
        state = State(**{name: value for name, value in written.items() if name in KINDS})
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    right = all(isinstance(getattr(state, name), kind) for name, kind in KINDS.items())
    return state if right and ADDRESS.fullmatch(state.address) else None


def _own_text(path: Path) -> str:
    """The text of a small file; raises OSError unless it is a regular file owned by this user."""
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(opened, encoding="utf-8") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode) or (sys.platform != "win32" and found.st_uid != os.geteuid()):
            raise PermissionError(f"{path} is not ours")
        return file.read(MAX_STATE_CHARACTERS)


def alive(model: str) -> bool:
    """Whether a process holds the lock of `model`'s engine, because it serves or loads."""
    path = state_dir() / f"engine-{model}.lock"
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:
        why = error.strerror
        raise UserError(f"{path} cannot be written ({why}): free some space, or set DLSP_STATE_DIR.") from error


def log(model: str) -> Path:
    """The log file of the engine of `model`, with its progress and errors."""
    return state_dir() / f"engine-{model}.log"
