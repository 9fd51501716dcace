"""Test whether a folder is writable."""

import os
from pathlib import Path

READ_BYTES = 4096


def probe(folder: Path) -> None:
    """Write a small file into the folder and remove it; raises OSError if that fails."""
    file = folder / f"probe-{os.getpid()}"
    try:
        file.write_bytes(b"x" * READ_BYTES)
    finally:
        file.unlink(missing_ok=True)
