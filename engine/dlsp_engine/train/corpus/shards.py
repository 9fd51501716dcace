"""The corpus on disk: JSON lines in xz files of about 16 MB, one xz stream per package."""

import json
import lzma
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypedDict

from .ledger import Entry

SHARD_BYTES = 16_000_000


class Row(TypedDict):
    """One file of the corpus."""

    text: str
    path: str
    package: str
    version: str
    language: str
    licence: str
    split: str


def append(folder: Path, entries: Iterable[Entry], split: str, rows: list[Row]) -> tuple[str, int]:
    """Write a package's rows after those of the entries. Returns the shard they were written to and its new size in
    bytes.
    """
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    data = lzma.compress(lines.encode(), preset=6)
    shard, end = ends(entries).get(split, (f"{split}-00000.jsonl.xz", 0))
    if end and end + len(data) > SHARD_BYTES:
        number = int(shard.removesuffix(".jsonl.xz").rsplit("-", 1)[1]) + 1
        shard, end = f"{split}-{number:05}.jsonl.xz", 0
    with (folder / shard).open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return shard, end + len(data)


def ends(entries: Iterable[Entry]) -> dict[str, tuple[str, int]]:
    """Return the shard that each split is written to, and its size in bytes."""
    return {entry.split: (entry.shard, entry.end) for entry in entries if entry.shard}


def restore(folder: Path, entries: Iterable[Entry]) -> None:
    """Remove what an interrupted run wrote to the shards without entering it in its ledger."""
    lengths = {entry.shard: entry.end for entry in entries if entry.shard}
    for path in folder.glob("*.jsonl.xz"):
        if path.name not in lengths:
            path.unlink()
        elif path.stat().st_size > lengths[path.name]:
            os.truncate(path, lengths[path.name])


def rows(folder: Path, split: str) -> Iterator[Row]:
    """Yield every row of a split, in order."""
    for path in sorted(folder.glob(f"{split}-*.jsonl.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
