"""Reading a file that somebody else's folder offers: a clone or an unpacked archive can hold links to devices, named
pipes, and files of any size."""

import errno
import os
import stat
from pathlib import Path

# Of a file with patterns, and of the other small files around them.
MOST_RULE_BYTES = 256 * 1024
# Those that the system has: Windows has no links, pipes or devices that these would keep out.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")
)


class TooLarge(OSError):
    """The file has more bytes than are read."""


def read(path: Path, most_bytes: int, inside: Path | None) -> bytes:
    """The content of a regular file. Never waits for one that is none.

    `inside`: the folder that it must lie in; a link may lead to another file of that folder and to nothing else. None
    for a file that the user named in a setting of their own: it may lie anywhere, and be a link. Raises TooLarge, and
    another OSError where there is no such file.
    """
    real = resolved(path)
    if inside is not None and not real.is_relative_to(resolved(inside)):
        raise PermissionError(f"it is a link out of {inside}")
    # Opening a device can do something already, so it is asked before. It is asked again, as it may have changed.
    _check(os.lstat(real), most_bytes)
    file = os.open(real, _FLAGS)
    with os.fdopen(file, "rb", buffering=0) as stream:
        _check(os.fstat(file), most_bytes)
        pieces: list[bytes] = []
        left = most_bytes + 1
        while left > 0 and (piece := stream.read(left)):
            pieces.append(piece)
            left -= len(piece)
    if not left:
        raise TooLarge(f"it has more than {most_bytes:,} bytes")
    return b"".join(pieces)


def resolved(path: Path) -> Path:
    """The path without links. Raises OSError where there are more of them one after the other than the system follows:
    to follow them ourselves takes long."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
    return Path(os.path.realpath(path))


def _check(state: os.stat_result, most_bytes: int) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise PermissionError("it is no regular file")
    if state.st_size > most_bytes:
        raise TooLarge(f"it has more than {most_bytes:,} bytes")
