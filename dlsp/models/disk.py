"""Hash and write large files, and check free space."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from dlsp.models.progress import Progress

CHUNK_BYTES = 1 << 20


def chunks(file: Path) -> Iterator[bytes]:
    """Yield the file's bytes in pieces."""
    with file.open("rb") as stream:
        while piece := stream.read(CHUNK_BYTES):
            yield piece


def digest(file: Path, size: int, progress: Progress) -> str:
    """The file's SHA-256 in hex; `size` in bytes is the total for the progress."""
    sha, done = hashlib.sha256(), 0
    for piece in chunks(file):
        sha.update(piece)
        done += len(piece)
        progress.at("checking", done, size)
    return sha.hexdigest()


def files_of(place: Path) -> list[Path]:
    """The files of a model: the one, or those of a folder that the engine reads, by name."""
    if not place.is_dir():
        return [place]
    return sorted(file for kind in ("*.safetensors", "*.json", "*.jinja") for file in place.glob(kind))


def digest_of(place: Path, size: int, progress: Progress) -> str:
    """The SHA-256 in hex of a model: of its file, or of the names and hashes of its folder's files."""
    if not place.is_dir():
        return digest(place, size, progress)
    hashes = [f"{file.name} {digest(file, file.stat().st_size, progress)}\n" for file in files_of(place)]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def write(pieces: Iterable[bytes], file: Path, size: int, progress: Progress) -> str:
    """Write a new file and return its SHA-256 in hex; on failure no file is left.

    Stops soon after `size` bytes: a longer file is wrong and must not fill the disk.
    """
    sha, done = hashlib.sha256(), 0
    # Never write through an existing name: it may be a hard link to one of the user's files.
    file.unlink(missing_ok=True)
    try:
        with file.open("xb") as stream:
            for piece in pieces:
                stream.write(piece)
                sha.update(piece)
                done += len(piece)
                progress.at("writing", done, size)
                if done > size:
                    break
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    return sha.hexdigest()


def require_space(folder: Path, needed: int) -> None:
    """Raise OSError ENOSPC, as a later write would, if fewer than `needed` bytes are free."""
    if shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def flush(path: Path) -> None:
    """Wait until a file's bytes, or a folder's entries, are on the disk.

    Windows cannot do so for a folder, and flushes a file only through a writable handle.
    """
    if os.name == "nt" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
