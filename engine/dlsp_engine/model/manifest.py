"""Manifests of the files that the engine makes: what a file must be, written beside it and checked before it is used.

The manifest of `NAME` is `NAME.manifest`, a JSON object:

- `size`, `sha256`: of the whole file
- `tensors`: for a safetensors file, name -> [dtype, shape, [first byte, byte after the last]]
- `stamp`: inode, size and times of the file when it was last hashed

Hashing a gigabyte takes up to a second, so a file is hashed only if its stamp has changed. Every write changes the
stamp: a program can set a file's modification time, but not its change time (ctime).
"""

import json
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest
from io import BufferedRandom, BufferedReader
from pathlib import Path

from filelock import FileLock, Timeout

# A stamp counts only if the manifest is so much younger than the file's last change: two changes within the resolution
# of a file system's clock have the same time.
SETTLED_NS = 1_000_000_000

LONGEST_HEADER = 10_000_000  # bytes of a safetensors header
LOCK = "lock"  # in the folder, held while files are made in it

ROOT = 0  # user id

Opened = BufferedReader | BufferedRandom


def path_of(file: Path) -> Path:
    """The path of the file's manifest."""
    return file.with_name(f"{file.name}.manifest")


def publish(partial: Path, file: Path) -> None:
    """Rename the finished file `partial` to `file` and write the manifest of its content. Raises OSError.

    Both are on the disk afterwards, with access for this user only.
    """
    partial.chmod(0o600)
    with partial.open("r+b") as opened:
        os.fsync(opened.fileno())
        tensors = _tensors(opened) if file.suffix == ".safetensors" else {}
        record = {"size": os.fstat(opened.fileno()).st_size, "sha256": _sha256(opened), "tensors": tensors}
    path_of(file).unlink(missing_ok=True)
    partial.replace(file)
    _write(file, record | {"stamp": _stamp(file.stat())})


def whole(file: Path, thorough: bool = False) -> bool:
    """Whether the file is exactly what its manifest describes. False if either is missing.

    It is hashed only if it has changed since it was last hashed, or if `thorough`.
    """
    try:
        record = json.loads(path_of(file).read_bytes())
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(file, flags), "rb") as opened:
            found = os.fstat(opened.fileno())
            if not _ours(found) or record["size"] != found.st_size:
                return False
            if record["tensors"] != (_tensors(opened) if file.suffix == ".safetensors" else {}):
                return False
            if not thorough and record["stamp"] == _stamp(found) and _settled(file, found):
                return True
            if record["sha256"] != _sha256(opened):
                return False
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False
    with suppress(OSError):  # the folder may be read-only: then the next start hashes again
        _write(file, record | {"stamp": _stamp(found)})
    return True


def sweep(folder: Path) -> None:
    """Remove the partial files that a killed conversion left in `folder`, unless another process is at work there."""
    if any(folder.glob("*.partial")):
        with suppress(OSError, Timeout), FileLock(folder / LOCK, timeout=0):
            for left in folder.glob("*.partial"):
                left.unlink(missing_ok=True)


def _write(file: Path, record: Mapping[str, object]) -> None:
    partial = file.with_name(f"{file.name}.{os.getpid()}.manifest.partial")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as opened:
            json.dump(record, opened)
            opened.flush()
            os.fsync(opened.fileno())
        partial.replace(path_of(file))
    finally:
        partial.unlink(missing_ok=True)


def _ours(found: os.stat_result) -> bool:
    """Whether it is a regular file that no other user could have written."""
    if not stat.S_ISREG(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid in (os.geteuid(), ROOT) and not found.st_mode & 0o022)


def _sha256(file: Opened) -> str:
    file.seek(0)
    return file_digest(file, "sha256").hexdigest()


def _tensors(file: Opened) -> dict[str, list[object]]:
    """What the header of a safetensors file says of each tensor: dtype, shape, and the bytes it takes.

    Raises ValueError, KeyError or TypeError if it is no such header.
    """
    length = int.from_bytes(file.read(8), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes")
    header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return {name: [one["dtype"], one["shape"], one["data_offsets"]] for name, one in header.items()}


def _stamp(found: os.stat_result) -> list[int]:
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _settled(file: Path, found: os.stat_result) -> bool:
    return path_of(file).stat().st_mtime_ns >= max(found.st_ctime_ns, found.st_mtime_ns) + SETTLED_NS
