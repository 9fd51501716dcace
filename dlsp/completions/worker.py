"""One worker thread for reading files and parsing documents, so that the event loop is never blocked by them."""

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
    """Runs functions one at a time on its thread, so that data only they use needs no lock. Call it to await a
    result."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "dlsp-worker")

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the function's result. Cancelling the wait does not stop a function that is already running."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, partial(function, *args, **kwargs))

    def submit(self, function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
        """Queue the function without waiting for it; a failure is logged."""
        self._executor.submit(function, *args, **kwargs).add_done_callback(_logged)

    def close(self) -> None:
        """End the thread after the running function; queued functions are dropped."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def _logged(done: "Future[Any]") -> None:
    error = None if done.cancelled() else done.exception()
    if error:  # the message is not logged, as it might contain document text
        log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
