"""Who is answered: the checks of every request, and the end of work for a client that has gone."""

import asyncio
import hmac
from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dlsp.api.body import MAX_BODY_BYTES
from dlsp.api.wire import openai_error, plain_error

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]", "0.0.0.0"})  # noqa: S104 - a client's Host, not ours
# Paths that say only that a server is there, and need no key.
PUBLIC = ("/health", "/v1/health")


class Admission:
    """Middleware that refuses web pages, unknown hosts, and requests without the key.

    A page's script always sends `Origin` or `Sec-Fetch-Site`. Node's `fetch` sends `Sec-Fetch-Mode` alone, and is let
    in. A page whose host name was made to resolve to this machine sends that name as its `Host` (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, key: str | None, hosts: Collection[str] | None) -> None:
        self._app, self._key, self._hosts = app, key, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        headers, path = request.headers, request.url.path
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return _error(path, 403, "Web pages are not answered.")
        if self._hosts is not None and _host(headers.get("host", "")) not in self._hosts:
            return _error(path, 403, "The header 'Host' names another machine.")
        if self._key is None or path in PUBLIC:
            return None
        given = headers.get("authorization", "").removeprefix("Bearer ").strip()
        keys = (given, headers.get("x-api-key", ""), headers.get("api-key", ""))
        if not any(hmac.compare_digest(each.encode(), self._key.encode()) for each in keys):
            return _error(path, 401, "The key is missing or wrong.")
        return None


class Disconnects:
    """Middleware that reads a request's body whole, and cancels its handler when the client closes the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        body = await _read(receive)
        if body is None:
            refusal = _error(scope["path"], 413, f"The body is larger than {MAX_BODY_BYTES} bytes.")
            return await refusal(scope, receive, send)
        handler = asyncio.ensure_future(self._app(scope, _replay(body), send))
        gone = asyncio.create_task(_disconnected(receive))
        try:
            await asyncio.wait([handler, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not handler.done():
                handler.cancel()
        try:
            await handler
        except asyncio.CancelledError:
            if not handler.cancelled():
                raise


def _error(path: str, status: int, sentence: str) -> Response:
    form = plain_error if path.startswith("/api/") else openai_error
    return JSONResponse(form(status, sentence, None), status)


def _host(header: str) -> str:
    """The header's host without its port."""
    return header.rpartition(":")[0] if header.rpartition(":")[2].isdigit() else header


async def _read(receive: Receive) -> bytes | None:
    """The request's body, None if it is too large."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes) -> Receive:
    """A `receive` that gives the body, and then waits: `Disconnects` watches the connection."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
