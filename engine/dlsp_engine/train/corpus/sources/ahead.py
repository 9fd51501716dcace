"""Downloads packages ahead of the one that is being read."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

WORKERS = 3
T = TypeVar("T")
R = TypeVar("R")


def ahead(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """Yield the results of `work` in the order of the items. Threads work on up to WORKERS items ahead."""
    pool = ThreadPoolExecutor(WORKERS)
    pending: deque[Future[R]] = deque()
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) > WORKERS:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
