"""Bring the index up to date with the files."""

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from dlsp.ignore import Rules, walk
from dlsp.ignore.walk import is_source
from dlsp.index.store import Store
from dlsp.index.symbols import symbols
from dlsp.syntax import languages

MAX_FILES = 20_000
# Files between two commits: the work that a sudden end can lose.
FILES_PER_COMMIT = 100

Going = Callable[[], bool]


def update(store: Store, rules: Rules, going: Going = lambda: True) -> bool:
    """Read changed files and drop those that are gone or now excluded; returns False if `going()` stopped it early."""
    known = store.states()
    seen: set[str] = set()
    fits = True
    for path, state in walk(rules):
        if not going() or len(seen) >= MAX_FILES:
            break
        name = relative(path, rules)
        seen.add(name)
        if known.get(name) != (state.st_mtime_ns, state.st_size) and (fits or name in known):
            fits = _read(store, rules.root, path, name, state)
            if len(seen) % FILES_PER_COMMIT == 0:
                store.commit()
    done = going()
    if done:
        for name in known.keys() - seen:
            store.drop(name)
    store.commit()
    return done


def refresh(store: Store, rules: Rules, paths: Iterable[Path]) -> None:
    """Update a few paths that were reported as changed: files that exist or are gone."""
    known = store.states()
    for path in paths:
        name, state = relative(path, rules), _state(path, rules)
        if state is None:
            store.drop(name)
        elif known.get(name) != (state.st_mtime_ns, state.st_size) and (name in known or len(known) < MAX_FILES):
            _read(store, rules.root, path, name, state)
    store.commit()


def _state(path: Path, rules: Rules) -> os.stat_result | None:
    """The file's stat result; None if it is not an indexable source file. A pipe is not: reading it would block."""
    try:
        state = path.lstat()
    except OSError:
        return None
    return state if stat.S_ISREG(state.st_mode) and is_source(path) and not rules.excludes_source(path) else None


def relative(path: Path, rules: Rules) -> str:
    return path.relative_to(rules.root).as_posix().encode("utf-8", "replace").decode()


def for_seconds(seconds: float) -> Going:
    """A function that returns True for `seconds` from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def _read(store: Store, root: Path, path: Path, name: str, state: os.stat_result) -> bool:
    """Index one file; returns False if the store is full.

    A file that vanishes or becomes unreadable meanwhile is dropped.
    """
    language = languages.of(path)
    assert language is not None
    try:
        found = symbols(path, root)
    except OSError:
        store.drop(name)
        return True
    try:
        store.put(name, language.family, (state.st_mtime_ns, state.st_size), found)
    except sqlite3.OperationalError:
        # The database has reached its maximum size: keep what it has.
        store.drop(name)
        return False
    return True
