"""Safe reading of untrusted files: a clone or archive may contain links to devices, named pipes, and files of
any size."""

import errno
import os
import stat
from pathlib import Path

# The most bytes of a pattern file, and of git's other small files.
MAX_RULE_BYTES = 256 * 1024
# Only the flags this system has; Windows has no links, pipes or devices that the missing ones would guard against.
_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")
)


class TooLarge(OSError):
    """The file has more bytes than may be read."""


def read(path: Path, most_bytes: int, inside: Path | None) -> bytes:
    """Return the content of a regular file; never blocks on a pipe or device.

    `inside`: the folder the file must be in; links may lead only to other files of that folder. None for a file named
    in the user's own settings, which may be anywhere and be a link. Raises TooLarge, or another OSError if there is no
    such file.
    """
    real = resolved(path)
    if inside is not None and not real.is_relative_to(resolved(inside)):
        raise PermissionError(f"it is a link out of {inside}")
    # Opening a device can already have effects, so the type is checked before opening, and again after, as it may
    # change.
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
    """The path with links resolved. Raises OSError for a chain of links that is longer than the system follows.

    Resolving such a chain in Python would take long.
    """
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
