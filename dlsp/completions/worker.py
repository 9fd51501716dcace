"""One thread for work that reads files or parses documents, so that no event loop waits for it."""

import asyncio
import logging
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


class Worker:
    """Runs functions one after the other: what only they touch needs no lock. Call it to wait for the result."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "dlsp-worker")

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of the function. Who stops waiting does not stop it once it runs."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(function, *args, **kwargs))

    def submit(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Run the function some time; nobody waits for it, and that it failed is logged."""
        self._executor.submit(function, *args, **kwargs).add_done_callback(_logged)

    def close(self) -> None:
        """End the thread after the function that is running; others are dropped."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _logged(done: "Future[Any]") -> None:
    error = None if done.cancelled() else done.exception()
    if error:  # its message might hold a document's text
        log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
