"""Atomic file writes: a file is replaced as a whole or not at all. And whether a folder can be written to."""

import os
import shutil
import stat
import time
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

PREFIX, SUFFIX = ".dlsp-", ".partial"
STALE_FILE_AGE_S = 3600
PROBE_BYTES = 4096


def write(file: Path, content: bytes) -> None:
    """Replace the file's content with `content` and keep its mode.

    On OSError the old file is unchanged and no temporary file is left.
    """
    file = file.resolve()
    _remove_stale(file.parent)
    new = NamedTemporaryFile("wb", dir=file.parent, prefix=PREFIX, suffix=SUFFIX, delete=False)  # noqa: SIM115 - closed below
    try:
        with new:
            new.write(content)
        if file.exists():
            shutil.copymode(file, new.name)
        Path(new.name).replace(file)
    except BaseException:
        Path(new.name).unlink(missing_ok=True)
        raise


def _remove_stale(folder: Path) -> None:
    """Remove temporary files older than STALE_FILE_AGE_S, left in `folder` by a process that was killed while
    writing."""
    for each in folder.glob(f"{PREFIX}????????{SUFFIX}"):
        with suppress(OSError):
            found = each.lstat()
            if stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > STALE_FILE_AGE_S:
                each.unlink()


def probe(folder: Path) -> None:
    """Write a small file into the folder and remove it; raises OSError if that fails."""
    file = folder / f"probe-{os.getpid()}"
    try:
        file.write_bytes(b"x" * PROBE_BYTES)
    finally:
        file.unlink(missing_ok=True)
