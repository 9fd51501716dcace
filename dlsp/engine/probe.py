"""Whether a folder can be written."""

import os
from pathlib import Path

BYTES = 4096


def probe(folder: Path) -> None:
    """Write a little there and take it away again; OSError says why that cannot be."""
    file = folder / f"probe-{os.getpid()}"
    try:
        file.write_bytes(b"x" * BYTES)
    finally:
        file.unlink(missing_ok=True)
