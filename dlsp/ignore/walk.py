"""The files of a workspace that may be read."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from dlsp.ignore.rules import Rules
from dlsp.syntax import languages


def walk(
    rules: Rules,
    start: Path | None = None,
    without: Path | None = None,
    going: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[Path, os.stat_result]]:
    """Source files below the root, or the folder `start` in it, with their state, the upper folders first; none in the
    folder `without`. It ends when `going`, which is asked at every file of any kind, says False.

    Links are not followed. Files and folders that vanish or cannot be read meanwhile are passed over.
    """
    for _, entries in _read(rules, start or rules.root, without):
        for entry in entries:
            if not going():
                return
            path = Path(entry.path)
            try:
                if is_source(path) and entry.is_file(follow_symlinks=False) and not rules.excludes_source(path):
                    yield path, entry.stat()
            except OSError:
                continue


def folders(rules: Rules) -> Iterator[Path]:
    """The root and the folders below it, those that are excluded or cannot be read left out."""
    return (folder for folder, _ in _read(rules, rules.root))


def is_source(path: Path) -> bool:
    """Whether the file's language has definitions."""
    language = languages.of(path)
    return language is not None and language.has_definitions


def _read(rules: Rules, start: Path, without: Path | None = None) -> Iterator[tuple[Path, list["os.DirEntry[str]"]]]:
    """Each folder with what is in it but folders."""
    pending = deque([start])
    while pending:
        folder = pending.popleft()
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        inner = {entry.name for entry in found if _is_folder(entry)}
        pending += [
            path
            for path in (folder / name for name in sorted(inner))
            if path != without and not rules.excludes_folder(path)
        ]
        yield folder, [entry for entry in found if entry.name not in inner]


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
