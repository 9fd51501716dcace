"""Waiting for what an editor does in its own time."""

import time
from collections.abc import Callable
from typing import Any

EVERY_S = 0.02


def until(happened: Callable[[], Any], what: str, seconds: float, report: Callable[[], str]) -> Any:
    """The first true answer of `happened`; an AssertionError with `report()` if there is none in time."""
    deadline = time.monotonic() + seconds
    while not (answer := happened()):
        if time.monotonic() > deadline:
            raise AssertionError(f"Waited {seconds:.0f} s in vain until {what}.\n{report()}")
        time.sleep(EVERY_S)
    return answer
