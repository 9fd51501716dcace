"""Make the index agree with the files."""

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

MOST_FILES = 20_000
# Files between two commits: what a sudden end can lose.
BATCH = 100

Going = Callable[[], bool]


def update(store: Store, rules: Rules, going: Going = lambda: True) -> bool:
    """Read what changed, forget what is gone or excluded by now; False if `going` said stop before the end."""
    known = store.states()
    seen: set[str] = set()
    fits = True
    for path, state in walk(rules):
        if not going() or len(seen) >= MOST_FILES:
            break
        name = relative(path, rules)
        seen.add(name)
        if known.get(name) != (state.st_mtime_ns, state.st_size) and (fits or name in known):
            fits = _read(store, rules.root, path, name, state)
            if len(seen) % BATCH == 0:
                store.commit()
    done = going()
    if done:
        for name in known.keys() - seen:
            store.drop(name)
    store.commit()
    return done


def refresh(store: Store, rules: Rules, paths: Iterable[Path]) -> None:
    """The same for a few paths of which it is said that they changed: files, and what is gone."""
    known = store.states()
    for path in paths:
        name, state = relative(path, rules), _state(path, rules)
        if state is None:
            store.drop(name)
        elif known.get(name) != (state.st_mtime_ns, state.st_size) and (name in known or len(known) < MOST_FILES):
            _read(store, rules.root, path, name, state)
    store.commit()


def _state(path: Path, rules: Rules) -> os.stat_result | None:
    """None for what is no source; a pipe is none, which would be waited for."""
    try:
        state = path.lstat()
    except OSError:
        return None
    return state if stat.S_ISREG(state.st_mode) and is_source(path) and not rules.excludes_source(path) else None


def relative(path: Path, rules: Rules) -> str:
    return path.relative_to(rules.root).as_posix().encode("utf-8", "replace").decode()


def for_seconds(seconds: float) -> Going:
    """True for so long from now."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


def _read(store: Store, root: Path, path: Path, name: str, state: os.stat_result) -> bool:
    """False if the store had no room for it; a file that vanishes or becomes unreadable while it is read is
    forgotten."""
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
        # It is as large as it may become: what it has is kept.
        store.drop(name)
        return False
    return True
