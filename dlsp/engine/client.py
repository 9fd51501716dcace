"""The HTTP client for a running engine: requests, and the events that answer them."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Self

from dlsp.engine.connections import READ_TIMEOUT_S, Answer, Broken, Connections, Silent
from dlsp.engine.state import State
from dlsp.errors import UserError

# Identifies this process to an engine that serves several clients, which get equal shares and separate sessions. A
# process that acts for other clients names each of them in the request.
CLIENT = secrets.token_hex(8)
# An engine at work sends something each half second; silent for longer than this, it is stuck or starved.
SILENCE_TIMEOUT_S = 2.0
# It compiles a constraint before it answers: half a second of processor time for the first, much longer if others work.
CONSTRAINT_TIMEOUT_S = 20.0
UNAUTHORIZED = 401
# Longer answers are refused; each limit is several times the longest real answer.
MAX_REPORT_BYTES = 1_000_000
MAX_LINE_BYTES = 64_000
MOST_GENERATION_BYTES = 4_000_000  # the last event of an answer of 32,768 tokens
MOST_TOKENS_BYTES = 12_000_000  # the tokens of a prompt of 400,000 characters, and their texts
MOST_REWRITE_BYTES = 500_000  # the changes of a window of 16,000 characters
MAX_GAP_BYTES = 16_000_000  # 1,024 steps, each with the whole text so far


class EngineError(UserError):
    """The engine rejected a request or failed at it."""


class EngineGone(UserError):
    """The engine no longer answers. `why`, if known, goes on from `it cannot be used:`."""

    why = ""


class Unauthorized(EngineGone):
    """A team's server does not accept the token."""


class EngineSilent(EngineGone):
    """The engine accepts connections but sends nothing."""


class Engine:
    """A running engine. To cancel a request, close the iterator of its events or cancel its task."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._http = Connections(state.address, state.token, state.on_server)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._http.close()

    async def health(self, timeout: float = 2) -> dict[str, Any]:
        """The answer to `GET /health`, within `timeout` seconds; raises EngineGone, also for an invalid answer."""
        try:
            return dict(json.loads(await self._body("GET", "/health", timeout)))
        except (ValueError, TypeError, RecursionError) as error:
            raise _gone(error) from error

    async def edit_format(self) -> str:
        """The format in which its model was trained to write windows anew (`rewrite`); empty if it was not. Raises
        EngineGone.
        """
        step: dict[str, Any] = (await self.health()).get("step", {})
        return str(step.get("edit_format", "")) if step.get("writes_edits") is True else ""

    async def metrics(self) -> str:
        """The answer to `GET /metrics`."""
        return (await self._body("GET", "/metrics")).decode("utf-8", "replace")

    async def shutdown(self) -> None:
        """Ask the engine to exit after the step in progress."""
        await self._body("POST", "/v1/shutdown")

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of an infill request as they arrive, up to `done`; raises EngineError for an `error`
        event."""
        return self._events("/v1/infill", request)

    def generate(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a request to go on from a prompt or to answer a chat, likewise."""
        return self._events("/v1/generate", request, MOST_GENERATION_BYTES)

    def tokens(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the one event that answers a request for a prompt's tokens."""
        return self._events("/v1/tokens", request, MOST_TOKENS_BYTES)

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a request to judge sites, likewise."""
        return self._events("/v1/sites", request)

    def rewrite(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a request to write windows anew, likewise."""
        return self._events("/v1/rewrite", request, MOST_REWRITE_BYTES)

    async def _body(self, method: str, path: str, within: float = READ_TIMEOUT_S) -> bytes:
        """The body of a successful answer, complete within `within` seconds. Raises EngineGone."""
        try:
            async with asyncio.timeout(within), self._http.ask(method, path, read_s=within) as answer:
                body = await answer.read(MAX_REPORT_BYTES)
        except TimeoutError as error:
            raise _gone(Silent()) from error
        except Broken as error:
            raise _gone(error) from error
        if answer.status == UNAUTHORIZED and self.state.on_server:
            raise Unauthorized("The server refuses your token: ask its administrator for another.")
        if answer.status >= 400:
            refused = EngineGone(f"The engine answers with {answer.status}; see `dlsp engine status`.")
            refused.why = f"it answers with {answer.status}"
            raise refused
        return body

    async def _events(
        self, path: str, request: dict[str, Any], most_line_bytes: int = MAX_LINE_BYTES
    ) -> AsyncGenerator[dict[str, Any]]:
        body = json.dumps({"client": CLIENT} | request, ensure_ascii=False).encode("utf-8", "replace")
        silence_s = CONSTRAINT_TIMEOUT_S if "constraint" in request else SILENCE_TIMEOUT_S
        try:
            async with self._http.ask("POST", path, body, silence_s) as answer:
                if answer.status == UNAUTHORIZED:  # another engine of this user now has the address
                    raise Broken("another engine is at its address")
                if answer.status >= 400:
                    raise EngineError(_refusal(await answer.read(MAX_LINE_BYTES)))
                whole = False
                async for line in _lines(answer, MAX_GAP_BYTES * _asked_for(request), most_line_bytes):
                    event = json.loads(line) if line and not whole else None
                    if event is None:
                        continue
                    if event["event"] == "error":
                        raise EngineError(event["error"])
                    # Read on after the last event: the connection can be kept only if the answer is read to its end.
                    whole = event["event"] == "done"
                    if not whole:
                        yield event
        except (Broken, ValueError, KeyError, TypeError, RecursionError) as error:
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


async def _lines(answer: Answer, most_bytes: int, most_line_bytes: int) -> AsyncIterator[bytes]:
    """Yield complete lines. Raises Broken if a line, or all lines together, exceed what an engine sends."""
    pending, length = b"", 0
    async for piece in answer.body:
        *lines, pending = (pending + piece).split(b"\n")
        length += len(piece)
        if length > most_bytes or max(len(line) for line in (*lines, pending)) > most_line_bytes:
            raise Broken("its answer has no end")
        for line in lines:
            yield line


def _asked_for(request: dict[str, Any]) -> int:
    """The number of answers that the request asks for, at least 1."""
    return max(1, *(len(request.get(name, ())) for name in ("gaps", "sites", "windows"))) * request.get("n", 1)


def _refusal(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "The engine refused the request without a reason; see its log."


def _gone(error: Exception) -> EngineGone:
    if isinstance(error, Silent):
        return EngineSilent("The engine has stopped answering; ask again, and another is started.")
    why = str(error) if isinstance(error, Broken) else type(error).__name__
    gone = EngineGone(f"The engine does not answer ({why}); try again, or see `dlsp engine status`.")
    gone.why = f"it does not answer ({why})"
    return gone
