"""What a run has finished so far, kept in a file so that the next run goes on from there."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any


class Journal:
    """A mapping from keys to JSON values, appended to a file as it grows; the last of a key counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries: dict[str, Any] = dict(_read(path))
        path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, key: str, value: Any) -> None:
        self.entries[key] = value
        with self.path.open("a", encoding="utf-8") as file:
            # The line break comes first: a line that a killed run left half written spoils no other.
            file.write("\n" + json.dumps([key, value]))

    def forget(self, keys: Collection[str]) -> None:
        """Drop the entries of these keys."""
        kept = {key: value for key, value in self.entries.items() if key not in keys}
        new = self.path.with_suffix(".new")
        new.write_text("\n".join(json.dumps(entry) for entry in kept.items()), encoding="utf-8")
        new.replace(self.path)
        self.entries = kept


def _read(path: Path) -> list[tuple[str, Any]]:
    if not path.exists():
        return []
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            key, value = json.loads(line)
        except ValueError:
            continue
        entries.append((key, value))
    return entries
