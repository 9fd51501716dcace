"""Ends an engine whose step hangs; its clients then start another."""

import logging
import os
import threading
import time
from collections.abc import Callable

from dlsp_engine.serve.scheduler import Scheduler

log = logging.getLogger(__name__)

# A step counts as hung after USUAL_STEPS_LIMIT times its usual duration, and not sooner than this.
MIN_LIMIT_S = 6.0
# The limit for the first step.
FIRST_STEP_LIMIT_S = 30.0
USUAL_STEPS_LIMIT = 30
CHECK_INTERVAL_S = 0.25
WEDGED_STATUS = 75


def limit(usual_s: float | None) -> float:
    """Return after how many seconds a step counts as hung. `usual_s` is the time that a step usually takes on this
    machine, or None before the first step has ended.
    """
    return FIRST_STEP_LIMIT_S if usual_s is None else max(MIN_LIMIT_S, USUAL_STEPS_LIMIT * usual_s)


def watch(scheduler: Scheduler, asked: threading.Event, end: Callable[[int], object] = os._exit) -> threading.Thread:
    """Start and return a thread that calls `end(WEDGED_STATUS)` once a step hangs. Python cannot stop a step, so the
    process has to end.

    `asked` is set after something was submitted to the scheduler; until then the thread sleeps.

    A step does not count as hung while its weights are read from disk again. Time during which the whole process was
    stopped or suspended does not count.
    """

    def run() -> None:
        paged, taken = _major_faults(), 0.0
        while not scheduler.closed:
            asked.clear()
            if not scheduler.busy:
                asked.wait()
            time.sleep(CHECK_INTERVAL_S)
            before, paged = paged, _major_faults()
            taken = min(scheduler.stepping_s, taken + 2 * CHECK_INTERVAL_S)
            if taken > limit(scheduler.usual_step_s) and paged == before:
                log.error("a step has not ended after %.0f s: this engine ends, the next request starts another", taken)
                logging.shutdown()
                end(WEDGED_STATUS)
                return

    thread = threading.Thread(target=run, name="watchdog", daemon=True)
    thread.start()
    return thread


def _major_faults() -> int:
    """Return how many page faults of this process had to wait for the disk; 0 if the system does not report them."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt
