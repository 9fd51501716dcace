import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from dlsp_engine.serve import watchdog


def scheduler(stepping_s: float, usual_step_s: float | None = 0.05) -> Any:
    return SimpleNamespace(closed=False, busy=True, stepping_s=stepping_s, usual_step_s=usual_step_s)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "CHECK_INTERVAL_S", 0.02)


class Stepping:
    """A step that takes longer from look to look."""

    def __init__(self, *seconds: float) -> None:
        self.closed, self.busy, self.usual_step_s, self._seconds = False, True, 0.05, list(seconds)

    @property
    def stepping_s(self) -> float:
        self.closed = len(self._seconds) == 1
        return self._seconds.pop(0)


def test_the_limit_follows_the_machine():
    assert watchdog.limit(None) == watchdog.FIRST_STEP_LIMIT_S
    assert watchdog.limit(0.01) == watchdog.MIN_LIMIT_S
    assert watchdog.limit(1.0) == 30.0


def test_a_wedged_step_ends_the_process(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watchdog, "MIN_LIMIT_S", 0.1)
    ended: list[int] = []
    watchdog.watch(scheduler(stepping_s=6.5), threading.Event(), ended.append).join(5)
    assert ended == [watchdog.WEDGED_STATUS]


def test_while_the_process_stood_still_no_step_was_wedged():
    ended: list[int] = []
    watched: Any = Stepping(0.1, 3600.0, 3600.1, 0.02)
    watchdog.watch(watched, threading.Event(), ended.append).join(5)
    assert not ended


def test_other_steps_do_not():
    ended: list[int] = []
    watched = [scheduler(5.0), scheduler(20.0, None), scheduler(20.0, 1.0), scheduler(0.0)]
    threads = [watchdog.watch(each, threading.Event(), ended.append) for each in watched]
    time.sleep(0.2)
    for each in watched:
        each.closed = True
    for thread in threads:
        thread.join(5)
    assert not ended
    assert not any(isinstance(each, threading.Thread) and each.is_alive() for each in threads)


def test_a_step_that_reads_its_weights_again_is_not_wedged(monkeypatch: pytest.MonkeyPatch):
    faults = iter(range(10**6))
    monkeypatch.setattr(watchdog, "_major_faults", lambda: next(faults))
    ended: list[int] = []
    watched = scheduler(stepping_s=100.0)
    thread = watchdog.watch(watched, threading.Event(), ended.append)
    time.sleep(0.2)
    watched.closed = True
    thread.join(5)
    assert not ended
