"""Where two texts differ."""

from collections.abc import Callable
from typing import AnyStr


def difference(old: AnyStr, new: AnyStr) -> tuple[int, int, int]:
    """The smallest single edit from `old` to `new`: its start, its end in `old`, and its end in `new`."""
    shorter = min(len(old), len(new))
    start = _agreement(shorter, lambda low, high: old[low:high] == new[low:high])
    one, other = len(old), len(new)
    end = _agreement(shorter - start, lambda low, high: old[one - high : one - low] == new[other - high : other - low])
    return start, one - end, other - end


def _agreement(most: int, same: Callable[[int, int], bool]) -> int:
    """The length up to which two texts agree.

    Found by bisection, because comparing slices runs at memory speed, unlike loops and memoryviews.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if same(low, middle) else (low, middle - 1)
    return low
