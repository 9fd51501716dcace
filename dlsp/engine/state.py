"""The state folder: where an engine says how it is reached."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from platformdirs import user_state_path

from dlsp.errors import UserError


@dataclass(frozen=True)
class State:
    """What a running engine wrote about itself; `started` in seconds since the epoch."""

    address: str
    token: str
    nonce: str
    pid: int
    model: str
    version: str
    started: float


def folder() -> Path:
    """The state folder, made on demand for its owner only: `DLSP_STATE_DIR`, else the platform's."""
    path = Path(os.environ.get("DLSP_STATE_DIR") or user_state_path("dlsp", appauthor=False)).absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The state folder {path} cannot be made ({error.strerror}): set DLSP_STATE_DIR to another."
        ) from error
    return path


def read(model: str) -> State | None:
    """What the engine of `model` last wrote, None if there is nothing readable.

    An address outside this machine is not believed: text leaves it never.
    """
    try:
        state = State(**json.loads((folder() / f"engine-{model}.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return state if state.address.startswith("http://127.0.0.1:") else None


def alive(model: str) -> bool:
    """Whether a process holds the lock of `model`'s engine: it serves, or it is loading."""
    try:
        with FileLock(folder() / f"engine-{model}.lock", timeout=0):
            return False
    except Timeout:
        return True


def log(model: str) -> Path:
    """Where the engine of `model` writes its progress and errors."""
    return folder() / f"engine-{model}.log"
