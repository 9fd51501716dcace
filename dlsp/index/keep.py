"""Keep an index up to date: read everything once, then follow file system events."""

import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from watchfiles import watch

from dlsp.ignore import Rules, folders
from dlsp.ignore.rules import PATTERN_FILES
from dlsp.index import store
from dlsp.index.store import Store
from dlsp.index.update import for_seconds, refresh, update

# Seconds between checks whether another editor's index process has ended, or a removed folder is there again.
LOCK_RETRY_S = 5
# Seconds between full rescans, because file systems do not report every change.
RESCAN_S = 300
# Seconds between rescans of a file system without events, and after a failure.
UNWATCHED_RESCAN_S = 30
# Without events, the pause is at least this many times the duration of the last scan.
PAUSE_PER_SCAN = 20
# This many changes at once, as when switching branches, cause a full rescan.
FULL_RESCAN_CHANGES = 300


def keep(root: Path, globs: tuple[str, ...], stop: threading.Event) -> None:
    """Keep the index up to date until `stop` is set, at the lowest priority.

    Only one process per workspace does the work; others wait for its end.
    """
    _step_back()
    file = store.place(root)
    while not stop.is_set():
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(file.with_suffix(".lock"), timeout=0):
                _keep(root, globs, file, stop)
        except Timeout:
            stop.wait(LOCK_RETRY_S)
        except (sqlite3.Error, OSError):
            # The index was damaged while in use, or the disk is full: retry after a while.
            stop.wait(UNWATCHED_RESCAN_S)


def bring_up_to_date(root: Path, globs: tuple[str, ...], seconds: float) -> None:
    """Read what changed, for at most `seconds`; does nothing if another process already does so, or on errors."""
    file = store.place(root)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=0), store.opened(file) as index:
            update(index, Rules(root, globs), for_seconds(seconds))
    except (Timeout, sqlite3.Error, OSError):
        return


def _keep(root: Path, globs: tuple[str, ...], file: Path, stop: threading.Event) -> None:
    store.prune(file.parent)
    with store.opened(file) as index:
        os.utime(file)  # marks it as recently used
        while not stop.is_set():
            if not root.is_dir():  # it may be created again
                stop.wait(LOCK_RETRY_S)
                continue
            rules = Rules(root, globs)
            try:
                took = _follow(index, rules, stop)
                stop.wait(took)  # a build may create folders continuously
            except FileNotFoundError:  # a folder vanished before it was watched
                stop.wait(LOCK_RETRY_S)
            except (OSError, RuntimeError):  # the system's limit of watches is reached
                took = _look(index, rules, stop)
                stop.wait(max(UNWATCHED_RESCAN_S, PAUSE_PER_SCAN * took))


def _follow(index: Store, rules: Rules, stop: threading.Event) -> float:
    """Scan everything once, then follow changes until a full rescan is due; returns the seconds the first scan took."""
    until = took = 0.0
    # Each folder is watched separately: a recursive watch would follow links and include excluded folders. Watching has
    # begun when the first set of changes arrives, empty or not, so nothing is lost between it and the first scan.
    for changes in watch(
        *filter(_is_sayable, folders(rules)),
        watch_filter=None,
        debounce=400,
        rust_timeout=1000,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        recursive=False,
    ):
        if not until:
            took = _look(index, rules, stop)
            until = time.monotonic() + RESCAN_S
        elif (
            time.monotonic() > until
            or len(changes) > FULL_RESCAN_CHANGES
            or any(_is_more(Path(path), rules) for _, path in changes)
        ):
            break
        elif changes:
            refresh(index, rules, [Path(path) for _, path in changes])
    return took


def _look(index: Store, rules: Rules, stop: threading.Event) -> float:
    """Scan everything; returns the seconds it took."""
    began = time.monotonic()
    update(index, rules, lambda: not stop.is_set())
    return time.monotonic() - began


def _is_more(path: Path, rules: Rules) -> bool:
    """Whether the change requires a full rescan: ignore rules or folders have changed."""
    if path == rules.root or path.name in PATTERN_FILES:
        return True
    return path.is_dir() and not path.is_symlink() and not rules.excludes_folder(path)


def _is_sayable(path: Path) -> bool:
    """Whether the name can be encoded; the watcher accepts no other."""
    try:
        return bool(str(path).encode())
    except UnicodeEncodeError:
        return False


def _step_back() -> None:
    """Run only when the processor is idle."""
    if hasattr(os, "nice"):
        os.nice(19)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
