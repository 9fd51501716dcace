"""Work that ends when nobody waits for it any more."""

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def in_time(items: Iterable[T], until: float) -> Iterator[T]:
    """The items as long as the clock (`time.monotonic`) is not past `until`."""
    for item in items:
        if time.monotonic() > until:
            return
        yield item
