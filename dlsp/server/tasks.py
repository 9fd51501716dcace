"""Running requests, one per feature and document: a newer one supersedes the older. All are cancelled at shutdown."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.errors import UserError

T = TypeVar("T")


class Superseded(Exception):
    """The work was cancelled before it finished; the message gives the reason, as a sentence for the user."""


class Tasks:
    """At most one task per feature and document."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._why: dict[asyncio.Task[Any], str] = {}
        self._closed = False

    async def run(self, feature: str, uri: str, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` and return its result; it supersedes the feature's older work on the document.

        Raises Superseded if it is cancelled by this class. Cancelling the caller cancels `work` too.
        """
        key = feature, unquote(uri)
        self._cancel(key, "A newer request of the same kind came first.")
        if self._closed:
            work.close()
            raise Superseded("The server is shutting down.")
        task = self._running[key] = asyncio.create_task(work)
        try:
            return await task
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller and caller.cancelling():
                raise
            raise Superseded(self._why.get(task, "The request was cancelled.")) from None
        finally:
            self._why.pop(task, None)
            if self._running.get(key) is task:
                del self._running[key]

    def cancel(self, feature: str, uri: str, why: str = "The document has changed.") -> None:
        """Cancel the feature's work on a document, if there is any."""
        self._cancel((feature, unquote(uri)), why)

    def cancel_document(self, uri: str, why: str = "The document was closed.") -> None:
        """Cancel all work on a document."""
        for key in [key for key in self._running if key[1] == unquote(uri)]:
            self._cancel(key, why)

    def close(self) -> None:
        """Cancel everything; nothing can be started any more."""
        self._closed = True
        for key in list(self._running):
            self._cancel(key, "The server is shutting down.")

    def _cancel(self, key: tuple[str, str], why: str) -> None:
        if task := self._running.pop(key, None):
            self._why[task] = why
            task.cancel()


@contextmanager
def refusing() -> Generator[None]:
    """Turn Superseded, TimeoutError and UserError into a JSON-RPC error with a sentence for the user."""
    try:
        yield
    except Superseded as error:
        raise JsonRpcException(str(error), types.LSPErrorCodes.ServerCancelled) from None
    except TimeoutError:
        raise JsonRpcException("The engine took too long; try again.", types.LSPErrorCodes.RequestFailed) from None
    except UserError as error:
        raise JsonRpcException(str(error), types.LSPErrorCodes.RequestFailed) from None
