"""Keep an index true: read everything once, then what the file system says has changed."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from watchfiles import Change, watch

from dlsp.ignore import Rules
from dlsp.ignore.rules import ALWAYS, FILES
from dlsp.index import store
from dlsp.index.store import Store
from dlsp.index.update import for_seconds, refresh, update

RETRY_S = 5
"""How often to look whether another editor's process, which keeps the index, is gone."""
RESCAN_S = 300
"""Everything is looked at again so often: file systems do not tell all that happens."""
UNWATCHED_S = 30
"""The same where the file system tells nothing, and the wait after a failure."""
MANY = 300
"""Changes at once after which everything is looked at again, as after a switch of branches."""


def keep(root: Path, globs: tuple[str, ...], stop: threading.Event) -> None:
    """Until `stop`; at the lowest priority. One process a workspace does it, others wait for its end."""
    _step_back()
    file = store.place(root)
    while not stop.is_set():
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(file.with_suffix(".lock"), timeout=0):
                _keep(root, globs, file, stop)
        except Timeout:
            stop.wait(RETRY_S)
        except (sqlite3.Error, OSError):
            # It was damaged under our hands, or the disk is full: from the start, after a while.
            stop.wait(UNWATCHED_S)


def bring_up_to_date(root: Path, globs: tuple[str, ...], seconds: float) -> None:
    """Read what changed, for so long at most; nothing if another process does so already, or it cannot be done."""
    file = store.place(root)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock"), timeout=0):
            index = Store.open(file)
            try:
                update(index, Rules(root, globs), for_seconds(seconds))
            finally:
                index.close()
    except (Timeout, sqlite3.Error, OSError):
        return


def _keep(root: Path, globs: tuple[str, ...], file: Path, stop: threading.Event) -> None:
    store.prune(file.parent)
    index = Store.open(file)
    os.utime(file)  # the last one used
    rules = Rules(root, globs)
    try:
        for changed in _changes(root, stop):
            if changed is None or len(changed) > MANY or any(path.name in FILES for path in changed):
                rules = Rules(root, globs)
                update(index, rules, lambda: not stop.is_set())
            else:
                refresh(index, rules, changed)
    finally:
        index.close()


def _changes(root: Path, stop: threading.Event) -> Iterator[set[Path] | None]:
    """Sets of paths that changed, None where it may be anything; None is the first."""
    while not stop.is_set():
        try:
            yield from _watched(root, stop)
        except (OSError, RuntimeError):  # the folder is gone, or the system watches no more of them
            yield None
            stop.wait(UNWATCHED_S)


def _watched(root: Path, stop: threading.Event) -> Iterator[set[Path] | None]:
    looked = -float(RESCAN_S)
    # Watching has begun when the first set comes, empty or not, so nothing is lost between it and the first look.
    for changes in watch(
        root,
        watch_filter=_is_telling,
        debounce=400,
        rust_timeout=1000,
        yield_on_timeout=True,
        stop_event=stop,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        if time.monotonic() - looked > RESCAN_S:
            looked = time.monotonic()
            yield None
        elif changes:
            yield {Path(path) for _, path in changes}


def _is_telling(change: Change, path: str) -> bool:
    return ALWAYS.isdisjoint(path.split(os.sep))


def _step_back() -> None:
    """Run only when nobody else wants to."""
    if hasattr(os, "nice"):
        os.nice(19)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
