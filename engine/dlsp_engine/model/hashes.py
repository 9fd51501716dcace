"""SHA-256 of files, remembered: to hash a file of several gigabytes at every start would take seconds."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from dlsp_engine.model.update import sha256

MEMORY = "hashes.json"  # in the cache: path -> the file's size and times, and its SHA-256


def stem(checkpoint: Path) -> str:
    """The checkpoint's name: its file's without the ending, or its folder's."""
    return checkpoint.name.removesuffix(".gguf")


def identity(checkpoint: Path, cache: Path) -> str:
    """What conversions and costs of a checkpoint are named by: its name without blanks, and its content."""
    return f"{stem(checkpoint).replace(' ', '_')}-{content(checkpoint, cache)}"


def content(checkpoint: Path, cache: Path) -> str:
    """The first 12 hex digits of the file's SHA-256, which are the same for every copy of the file; of a folder, those
    of the hashes of all its files that are read.
    """
    if not checkpoint.is_dir():
        return remembered(checkpoint, cache)[:12]
    read = [*checkpoint.glob("*.safetensors"), *checkpoint.glob("*.json"), *checkpoint.glob("*.jinja")]
    hashes = [f"{file.name} {remembered(file, cache)}\n" for file in sorted(read)]
    return hashlib.sha256("".join(hashes).encode()).hexdigest()[:12]


def remembered(file: Path, cache: Path) -> str:
    """The file's SHA-256: from the note that `dlsp model pull` writes next to it, or from MEMORY, if the file has not
    changed since; else computed, and written to MEMORY.
    """
    stat = file.stat()
    note = _read(file.with_name(f"{file.name}.accepted"))
    if (note.get("size"), note.get("mtime_ns")) == (stat.st_size, stat.st_mtime_ns) and note.get("sha256"):
        return str(note["sha256"])
    stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
    known = _read(cache / MEMORY).get(str(file.resolve()))
    if isinstance(known, dict) and known.get("stamp") == stamp and known.get("sha256"):
        return str(known["sha256"])
    found = sha256(file)
    _write(cache / MEMORY, _read(cache / MEMORY) | {str(file.resolve()): {"stamp": stamp, "sha256": found}})
    return found


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, known: dict[str, Any]) -> None:
    """Does nothing if the cache cannot be written: the next start hashes again."""
    kept = {path: entry for path, entry in known.items() if Path(path).exists()}
    partial = file.with_suffix(f".{os.getpid()}.partial")
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.write_text(json.dumps(kept, indent=1))
        partial.replace(file)
