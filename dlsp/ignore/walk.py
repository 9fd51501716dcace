"""The files of a workspace that may be read."""

import os
from collections.abc import Iterator
from pathlib import Path

from dlsp.ignore.rules import Rules
from dlsp.syntax import languages


def walk(rules: Rules, start: Path | None = None, without: Path | None = None) -> Iterator[tuple[Path, os.stat_result]]:
    """Source files below the root, or the folder `start` in it, with their state, folder by folder; none in the folder
    `without`.

    Links are not followed. Files and folders that vanish or cannot be read meanwhile are passed over.
    """
    pending = [start or rules.root]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in found:
            path = Path(entry.path)
            try:
                if entry.is_dir(follow_symlinks=False):
                    if path != without and not rules.excludes_folder(path):
                        pending.append(path)
                elif is_source(path) and entry.is_file(follow_symlinks=False) and not rules.excludes_source(path):
                    yield path, entry.stat()
            except OSError:
                continue


def is_source(path: Path) -> bool:
    """Whether the file's language has definitions."""
    language = languages.of(path)
    return language is not None and language.has_definitions
