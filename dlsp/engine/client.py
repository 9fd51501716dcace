"""An engine as its clients see it: HTTP on the loopback interface."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Self

from dlsp.engine.connections import READ_S, Answer, Broken, Connections, Silent
from dlsp.engine.state import State
from dlsp.errors import UserError

UNHEARD_S = 2.0
"""An engine at work is heard each half second; one that is not for so long is stuck, or starved."""


class EngineError(UserError):
    """The engine refused a request or failed at it."""


class EngineGone(UserError):
    """The engine does not answer any more."""


class EngineSilent(EngineGone):
    """It takes connections and says nothing."""


class Engine:
    """A running engine. Closing the iterator of `infill` or `sites`, or cancelling its task, cancels the request."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._http = Connections(state.address, [("Authorization", f"Bearer {state.token}")])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._http.close()

    async def health(self, timeout: float = 2) -> dict[str, Any]:
        """What `GET /health` says; raises EngineGone, also when it says nothing sensible."""
        try:
            return dict(json.loads(await self._told("GET", "/health", timeout)))
        except (ValueError, TypeError) as error:
            raise _gone(error) from error

    async def metrics(self) -> str:
        """What `GET /metrics` says."""
        return (await self._told("GET", "/metrics")).decode("utf-8", "replace")

    async def shutdown(self) -> None:
        """Ask the engine to end after the step in progress."""
        await self._told("POST", "/v1/shutdown")

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The events of one request as they happen, up to `done`; an `error` event raises EngineError."""
        return self._events("/v1/infill", request)

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The same of a request that has sites judged."""
        return self._events("/v1/sites", request)

    async def _told(self, method: str, path: str, read_s: float = READ_S) -> bytes:
        """The body of an answer that is no refusal. Raises EngineGone."""
        try:
            async with self._http.ask(method, path, read_s=read_s) as answer:
                body = await answer.read()
        except Broken as error:
            raise _gone(error) from error
        if answer.status >= 400:
            raise EngineGone(f"The engine answers with {answer.status}; see `dlsp engine status`.")
        return body

    async def _events(self, path: str, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        body = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
        try:
            async with self._http.ask("POST", path, body, UNHEARD_S) as answer:
                if answer.status >= 400:
                    raise EngineError(_refusal(await answer.read()))
                whole = False
                async for line in _lines(answer):
                    event = json.loads(line) if line and not whole else None
                    if event is None:
                        continue
                    if event["event"] == "error":
                        raise EngineError(event["error"])
                    # What follows the last event is the end of the answer, by which the connection can be kept.
                    whole = event["event"] == "done"
                    if not whole:
                        yield event
        except (Broken, ValueError, KeyError, TypeError) as error:
            raise _gone(error) from error
        if not whole:
            raise EngineGone("The engine broke off in the middle of an answer; try again.")

    async def fill(self, request: dict[str, Any]) -> dict[str, Any]:
        """The `fill` event of a request with one gap."""
        filled: dict[str, Any] = {}
        async with aclosing(self.infill(request)) as events:
            async for event in events:
                if event["event"] == "fill":
                    filled = event
        if not filled:
            raise EngineGone("The engine answered without a fill; ask again.")
        return filled


async def _lines(answer: Answer) -> AsyncIterator[bytes]:
    """Lines as the engine wrote them."""
    pending = b""
    async for piece in answer.body:
        *lines, pending = (pending + piece).split(b"\n")
        for line in lines:
            yield line


def _refusal(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return "The engine refused the request without a reason; see its log."


def _gone(error: Exception) -> EngineGone:
    if isinstance(error, Silent):
        return EngineSilent("The engine has stopped answering; ask again, and another is started.")
    why = str(error) if isinstance(error, Broken) else type(error).__name__
    return EngineGone(f"The engine does not answer ({why}); try again, or see `dlsp engine status`.")
