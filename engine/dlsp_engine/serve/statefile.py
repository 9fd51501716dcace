"""The state file that clients find an engine by, and the lock that makes it the only one of its model."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from dlsp_engine.errors import EngineError

REPLACE_TRIES = 20
REPLACE_S = 0.05


def lock(folder: Path, model: str) -> FileLock:
    """The model's lock, held from now on; raises EngineError if another engine has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if sys.platform != "win32" and folder.stat().st_uid != os.geteuid():
            raise EngineError(f"The state folder {folder} belongs to another user: set DLSP_STATE_DIR to one of yours.")
        held = FileLock(folder / f"engine-{model}.lock")
        held.acquire(timeout=0.5)  # clients look at it for a moment
    except Timeout as error:
        raise EngineError(f"An engine for {model} runs already; `dlsp engine status` shows it.") from error
    except OSError as error:
        raise _unwritable(folder, error) from error
    return held


def birth() -> str:
    """When this process began, as no step of the clock changes it: with its number it is like no other process.

    Linux counts ticks since the machine was started; elsewhere the system notes the time once, when a process begins.
    """
    if sys.platform == "linux":
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        told = Path("/proc/self/stat").read_text()
        return f"{boot}/{told.rpartition(')')[2].split()[19]}"  # field 22 of proc(5); a name may hold spaces
    import psutil

    return repr(psutil.Process().create_time())


class StateFile:
    """`engine-MODEL.json`: there and right while the engine listens, whatever happens to the folder."""

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self.path = folder / f"engine-{state['model']}.json"
        self._lock = folder / f"engine-{state['model']}.lock"
        self._state = state
        self._locked = self._inode()

    def write(self) -> None:
        """Readable by its owner only, in one step; raises EngineError if the folder cannot be written."""
        partial = self.path.with_suffix(".partial")
        try:
            partial.unlink(missing_ok=True)
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(self._state, file)
            _replace(partial, self.path)
        except OSError as error:
            _remove(partial)
            raise _unwritable(self.path.parent, error) from error

    def keep(self) -> bool:
        """Put the file right if it was lost or spoilt; False if the lock is lost, so that another engine may start."""
        if self._inode() != self._locked:
            return False
        try:
            right = json.loads(self.path.read_text(encoding="utf-8")) == self._state
        except (OSError, ValueError):
            right = False
        if not right:
            try:
                self.write()
            except EngineError:
                return True  # a full disk may have room again later
        return True

    def remove(self) -> None:
        """At the end; not what another engine wrote meanwhile."""
        if self._inode() == self._locked:
            _remove(self.path)

    def _inode(self) -> int | None:
        try:
            return self._lock.stat().st_ino
        except OSError:
            return None


def _replace(partial: Path, path: Path) -> None:
    """`os.replace`, which on Windows fails for the moment that somebody reads the file."""
    for _ in range(REPLACE_TRIES):
        try:
            partial.replace(path)
            return
        except PermissionError:
            time.sleep(REPLACE_S)
    partial.replace(path)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # a stale file is harmless: its nonce is nobody's


def _unwritable(folder: Path, error: OSError) -> EngineError:
    return EngineError(
        f"The state folder {folder} cannot be written ({error.strerror}): free some space, or set DLSP_STATE_DIR."
    )
