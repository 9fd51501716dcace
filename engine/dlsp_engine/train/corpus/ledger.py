"""The record of packages that are done, one line each, so that an interrupted build can continue."""

import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One package and what was kept of it. `shard` and `end` give the shard it was written to and its size then, in
    bytes.
    """

    group: str
    source: str
    name: str
    version: str
    split: str
    licence: str = ""
    files: int = 0
    bytes: dict[str, int] = field(default_factory=dict)
    sha256: str = ""
    dropped: dict[str, int] = field(default_factory=dict)
    problem: str = ""
    shard: str = ""
    end: int = 0


class Ledger:
    """The packages that are done, in order, in a file to which lines are only appended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.entries = _read(path)
        self._done = {(entry.group, entry.source, entry.name) for entry in self.entries}

    def done(self, group: str, source: str, name: str) -> bool:
        return (group, source, name) in self._done

    def add(self, entry: Entry) -> None:
        """Append an entry. When this returns, the entry is on disk and survives a kill."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry), ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.entries.append(entry)
        self._done.add((entry.group, entry.source, entry.name))

    def kept(self, group: str) -> int:
        """Return the bytes of text kept of a group of languages, in all splits."""
        return sum(sum(entry.bytes.values()) for entry in self.entries if entry.group == group)

    def totals(self) -> dict[str, dict[str, int]]:
        """Return the bytes by split and language."""
        totals: dict[str, Counter[str]] = {}
        for entry in self.entries:
            totals.setdefault(entry.split, Counter()).update(entry.bytes)
        return {split: dict(sorted(counts.items())) for split, counts in sorted(totals.items()) if counts}


def _read(path: Path) -> list[Entry]:
    """Return the entries of a ledger's file. Removes a last line that a kill left incomplete."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return [Entry(**json.loads(line)) for line in whole.splitlines()]
