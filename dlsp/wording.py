"""Numbers and durations as words."""

from datetime import timedelta


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 line`, `2 lines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def duration(seconds: float) -> str:
    """A duration as text: `1:02:03`, `2 days, 1:02:03`."""
    return str(timedelta(seconds=int(seconds)))
