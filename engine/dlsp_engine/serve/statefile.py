"""The state file by which clients find an engine, and the lock that allows only one engine per model."""

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
    """Acquire the model's lock and return it. Raises EngineError if another engine holds it, or if the state folder
    cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if sys.platform != "win32" and folder.stat().st_uid != os.geteuid():
            raise EngineError(f"The state folder {folder} belongs to another user: set DLSP_STATE_DIR to one of yours.")
        held = FileLock(folder / f"engine-{model}.lock")
        held.acquire(timeout=0.5)  # clients test the lock by holding it for a moment
    except Timeout as error:
        raise EngineError(f"An engine for {model} runs already; `dlsp engine status` shows it.") from error
    except OSError as error:
        raise _unwritable(folder, error) from error
    return held


def birth() -> str:
    """Return when this process began, in a form that changes of the clock do not affect. Together with the process id
    it identifies this process.

    On Linux it is the boot id and the clock ticks since the machine started; elsewhere it is the start time that the
    system recorded.
    """
    if sys.platform == "linux":
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        stat = Path("/proc/self/stat").read_text()
        return f"{boot}/{stat.rpartition(')')[2].split()[19]}"  # field 22 of proc(5); a name may hold spaces
    import psutil

    return repr(psutil.Process().create_time())


class StateFile:
    """The file `engine-MODEL.json`. It exists and is correct while the engine listens; see `keep`."""

    def __init__(self, folder: Path, state: dict[str, Any]) -> None:
        self.path = folder / f"engine-{state['model']}.json"
        self._lock = folder / f"engine-{state['model']}.lock"
        self._state = state
        self._locked = self._inode()

    def write(self) -> None:
        """Write the file atomically, readable by its owner only. Raises EngineError if the folder cannot be written."""
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
        """Write the file again if it is missing or wrong. Returns False if the lock file was removed or replaced, so
        that another engine may start.
        """
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
        """Remove the file, unless it may be another engine's because the lock file was removed or replaced."""
        if self._inode() == self._locked:
            _remove(self.path)

    def _inode(self) -> int | None:
        try:
            return self._lock.stat().st_ino
        except OSError:
            return None


def _replace(partial: Path, path: Path) -> None:
    """Rename `partial` to `path`. Tries again for a second, since on Windows this fails while somebody reads
    the file.
    """
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
        return  # a stale file is harmless: no engine has its nonce


def _unwritable(folder: Path, error: OSError) -> EngineError:
    return EngineError(
        f"The state folder {folder} cannot be written ({error.strerror}): free some space, or set DLSP_STATE_DIR."
    )
