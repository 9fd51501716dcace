"""The newest request of a document wins."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stale(Exception):
    """Something newer came before the work was done."""


class Latest:
    """Runs at most one piece of work for each key; a newer one, or `drop`, cancels it."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`. Raises Stale once dropped; cancelling the caller cancels `work` too."""
        self.drop(key)
        task = self._tasks[key] = asyncio.create_task(work)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller and caller.cancelling():
                raise
            raise Stale from None
        finally:
            if self._tasks.get(key) is task:
                del self._tasks[key]

    def drop(self, key: str) -> None:
        """Cancel what runs for `key`, if anything does."""
        if task := self._tasks.get(key):
            task.cancel()
