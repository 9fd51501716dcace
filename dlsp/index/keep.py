"""Keep an index true: read everything once, then what the file system says has changed."""

import os
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout
from watchfiles import watch

from dlsp.ignore import Rules, folders
from dlsp.ignore.rules import FILES
from dlsp.index import store
from dlsp.index.store import Store
from dlsp.index.update import for_seconds, refresh, update

# How often to look whether another editor's process, which keeps the index, is gone, or the folder there again.
RETRY_S = 5
# Everything is looked at again so often: file systems do not tell all that happens.
RESCAN_S = 300
# The same where the file system tells nothing, and the wait after a failure.
UNWATCHED_S = 30
# Where it tells nothing, the wait is at least so many times what the last look took.
REST = 20
# Changes at once after which everything is looked at again, as after a switch of branches.
MANY = 300


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
        with FileLock(file.with_suffix(".lock"), timeout=0), store.opened(file) as index:
            update(index, Rules(root, globs), for_seconds(seconds))
    except (Timeout, sqlite3.Error, OSError):
        return


def _keep(root: Path, globs: tuple[str, ...], file: Path, stop: threading.Event) -> None:
    store.prune(file.parent)
    with store.opened(file) as index:
        os.utime(file)  # the last one used
        while not stop.is_set():
            if not root.is_dir():  # it may come again
                stop.wait(RETRY_S)
                continue
            rules = Rules(root, globs)
            try:
                took = _follow(index, rules, stop)
                stop.wait(took)  # a build may make folders all the time
            except FileNotFoundError:  # a folder went before it was watched
                stop.wait(RETRY_S)
            except (OSError, RuntimeError):  # the system watches no more of them
                took = _look(index, rules, stop)
                stop.wait(max(UNWATCHED_S, REST * took))


def _follow(index: Store, rules: Rules, stop: threading.Event) -> float:
    """Look at everything once and then at what changes, until everything has to be looked at again; seconds that the
    first look took."""
    until = took = 0.0
    # Each folder by itself: a watch of all that is below one would follow links, and count what is excluded.
    # Watching has begun when the first set comes, empty or not, so nothing is lost between it and the first look.
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
        elif time.monotonic() > until or len(changes) > MANY or any(_is_more(Path(path), rules) for _, path in changes):
            break
        elif changes:
            refresh(index, rules, [Path(path) for _, path in changes])
    return took


def _look(index: Store, rules: Rules, stop: threading.Event) -> float:
    """At everything; seconds that it took."""
    began = time.monotonic()
    update(index, rules, lambda: not stop.is_set())
    return time.monotonic() - began


def _is_more(path: Path, rules: Rules) -> bool:
    """Whether more than this has to be looked at: there are other rules, or there is another folder."""
    if path == rules.root or path.name in FILES:
        return True
    return path.is_dir() and not path.is_symlink() and not rules.excludes_folder(path)


def _is_sayable(path: Path) -> bool:
    """Whether the name is text: another cannot be given to the watch."""
    try:
        return bool(str(path).encode())
    except UnicodeEncodeError:
        return False


def _step_back() -> None:
    """Run only when nobody else wants to."""
    if hasattr(os, "nice"):
        os.nice(19)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
