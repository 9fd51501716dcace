"""An engine as its clients see it: HTTP on the loopback interface."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Self

import httpx

from dlsp.engine.state import State
from dlsp.errors import UserError

TIMEOUT = httpx.Timeout(5, connect=2, read=5)
"""Seconds; `read` bounds the silence between two lines. An engine at work sends at least a blank one each second."""


class EngineError(UserError):
    """The engine refused a request or failed at it."""


class EngineGone(UserError):
    """The engine does not answer any more."""


class Engine:
    """A running engine. Closing the iterator of `infill` or `sites`, or cancelling its task, cancels the request."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._http = httpx.AsyncClient(
            base_url=state.address,
            headers={"Authorization": f"Bearer {state.token}"},
            timeout=TIMEOUT,
            trust_env=False,
            verify=False,  # there is no TLS on the way, and loading the certificates takes 0.1 s
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def health(self, timeout: float = 2) -> dict[str, Any]:
        """What `GET /health` says; raises EngineGone, also when it says nothing sensible."""
        try:
            response = await self._http.get("/health", timeout=timeout)
            return response.raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise EngineGone(_gone(error)) from error

    async def metrics(self) -> str:
        """What `GET /metrics` says."""
        try:
            return (await self._http.get("/metrics")).raise_for_status().text
        except httpx.HTTPError as error:
            raise EngineGone(_gone(error)) from error

    async def shutdown(self) -> None:
        """Ask the engine to end after the step in progress."""
        try:
            (await self._http.post("/v1/shutdown")).raise_for_status()
        except httpx.HTTPError as error:
            raise EngineGone(_gone(error)) from error

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The events of one request as they happen, up to `done`; an `error` event raises EngineError."""
        return self._events("/v1/infill", request)

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The same of a request that has sites judged."""
        return self._events("/v1/sites", request)

    async def _events(self, path: str, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        try:
            async with self._http.stream("POST", path, json=request) as response:
                if response.is_error:
                    raise EngineError(_refusal(await response.aread()))
                async for line in _lines(response):
                    if not line:
                        continue
                    event = json.loads(line)
                    if event["event"] == "done":
                        return
                    if event["event"] == "error":
                        raise EngineError(event["error"])
                    yield event
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise EngineGone(_gone(error)) from error
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


async def _lines(response: httpx.Response) -> AsyncIterator[bytes]:
    """Lines as the engine wrote them; httpx's own would also split at U+2028 and its like inside a text."""
    pending = b""
    async for chunk in response.aiter_bytes():
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield line


def _refusal(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        return "The engine refused the request without a reason; see its log."


def _gone(error: Exception) -> str:
    if isinstance(error, httpx.ReadTimeout):
        return "The engine has stopped answering; ask again, and another is started."
    return f"The engine does not answer ({type(error).__name__}); try again, or see `dlsp engine status`."
