"""The socket on which an engine listens, and its address as the state file gives it."""

import hashlib
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from dlsp_engine.errors import EngineError

MAX_PATH_BYTES = 103  # of a Unix socket's path: with the final zero byte, macOS has room for 104 and Linux for 108


class Listener:
    """A bound socket and its `address`: `unix:PATH`, or `http://127.0.0.1:PORT`. As a context manager it closes the
    socket at the end and removes its file.
    """

    def __init__(self, bound: socket.socket, address: str, path: Path | None = None) -> None:
        self.socket, self.address = bound, address
        self._path = path
        self._inode = self._found()

    @classmethod
    def open(cls, state: Path, model: str, tcp: bool = sys.platform == "win32") -> Self:
        """Return a listener on a Unix socket that other users cannot reach, or on a loopback port if `tcp`.

        The Unix socket is in the state folder. If its path would be too long there, or the file system supports no
        sockets, it is in a private folder in XDG_RUNTIME_DIR or in the folder for temporary files. The caller must hold
        the model's lock, since a socket that an earlier engine left is replaced. Raises EngineError if no folder is
        suitable.
        """
        if tcp:
            return cls._port()
        for path in _places(state.absolute(), model):
            if len(os.fsencode(path)) <= MAX_PATH_BYTES and (bound := _bound(path)):
                return cls(bound, f"unix:{path}", path)
        raise EngineError(
            f"The engine's socket has no place: the path of {state} is too long, and no other folder is private. "
            "Set DLSP_STATE_DIR to a folder of yours with a path of at most 60 bytes."
        )

    @classmethod
    def _port(cls) -> Self:
        bound = socket.socket(proto=socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY only if the protocol is given
        if sys.platform == "win32":  # otherwise another process could bind the same port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        bound.bind(("127.0.0.1", 0))
        return cls(bound, f"http://127.0.0.1:{bound.getsockname()[1]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        if self._path and self.reachable():
            with suppress(OSError):
                self._path.unlink()

    def reachable(self) -> bool:
        """Whether clients still find this socket at its address."""
        return self._found() == self._inode

    def _found(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


def _places(state: Path, model: str) -> Iterator[Path]:
    """Yield the paths to try for the socket, the preferred ones first."""
    yield state / f"engine-{model}.sock"
    name = hashlib.sha256(os.fsencode(state / model)).hexdigest()[:16]
    folders = [Path(tempfile.gettempdir()) / f"dlsp-{os.geteuid()}"]
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        folders.insert(0, Path(runtime) / "dlsp")
    for folder in folders:
        if _private(folder):
            yield folder / f"{name}.sock"


def _private(folder: Path) -> bool:
    """Make sure that the folder exists for its owner alone. Returns False if another user owns it, if others have
    access to it, or if it cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _bound(path: Path) -> socket.socket | None:
    """Return a socket bound to `path`, to which only its owner can connect; None if the folder allows no sockets."""
    bound = socket.socket(socket.AF_UNIX)
    try:
        path.unlink(missing_ok=True)
        bound.bind(os.fsencode(path))
        path.chmod(0o600)  # nobody can connect before it listens
    except OSError:
        bound.close()
        return None
    return bound
