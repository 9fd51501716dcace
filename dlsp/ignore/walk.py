"""Walk the files of a workspace that may be read."""

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
    """Yield the source files below the root, or below its folder `start`, with their stat results, upper folders first.

    The folder `without` is left out. The walk ends when `going()`, called at every file of any kind, returns False.
    Links are not followed; files and folders that vanish or cannot be read are skipped.
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
    """Yield the root and the folders below it that are readable and not excluded."""
    return (folder for folder, _ in _read(rules, rules.root))


def is_source(path: Path) -> bool:
    """Whether the file's language has definitions."""
    language = languages.of(path)
    return language is not None and language.has_definitions


def _read(rules: Rules, start: Path, without: Path | None = None) -> Iterator[tuple[Path, list["os.DirEntry[str]"]]]:
    """Yield each folder with its entries that are not folders."""
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
