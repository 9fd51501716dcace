"""What the dialects share on the wire: server-sent events and JSON lines, errors in each one's form, identifiers."""

import json
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Self

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dlsp.api.answer import Engine
from dlsp.api.body import Body, Refused
from dlsp.api.completer import Completer
from dlsp.api.editor import Editor
from dlsp.api.generator import MAX_CONTEXT_TOKENS, Generator
from dlsp.engine.client import EngineGone
from dlsp.engine.connection import NotReady
from dlsp.errors import UserError
from dlsp.models.catalogue import Model

# How each dialect writes an error: status, one sentence and the wrong field, if one is, to a JSON object.
ErrorForm = Callable[[int, str, str | None], dict[str, Any]]
Handler = Callable[["Service", Body, Request], Awaitable[Response]]
# Clients that retry by themselves would ask for a text that the user has typed past.
NO_RETRY_HEADERS = {"x-should-retry": "false"}


@dataclass(frozen=True)
class Service:
    """What the handlers use: the way to the engine, and what clients are told about the model. `size` is the bytes of
    its file, `digest` their SHA-256, `context` the longest prompt in tokens, `started` when this server started, in
    seconds since the epoch."""

    completer: Completer
    generator: Generator
    editor: Editor
    model: str
    size: int
    digest: str
    context: int
    started: int

    @classmethod
    def of(cls, engine: Engine, model: Model) -> Self:
        """The service of a model by its engine."""
        generator = Generator(engine)
        ways = Completer(engine), generator, Editor(engine, generator)
        return cls(*ways, model.name, model.size, model.sha256, MAX_CONTEXT_TOKENS, now_s())


def openai_error(status: int, sentence: str, field: str | None = None) -> dict[str, Any]:
    """OpenAI's form, with the HTTP status as its code, so that it is llama.cpp's, too."""
    kinds = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error"}
    kinds |= {
        404: "not_found_error",
        413: "invalid_request_error",
        422: "invalid_request_error",
        501: "not_supported_error",
    }
    kinds |= {503: "unavailable_error"}
    kind = kinds.get(status, "server_error")
    return {"error": {"message": sentence, "type": kind, "param": field, "code": status}}


def plain_error(status: int, sentence: str, field: str | None = None) -> dict[str, Any]:
    """Ollama's form."""
    return {"error": sentence}


def route(
    service: Service, path: str, handler: Handler, errors: ErrorForm = openai_error, method: str = "POST"
) -> Route:
    """A route whose handler gets the request's parsed body and whose errors have the dialect's form."""

    async def endpoint(request: Request) -> Response:
        try:
            body = await Body.of(request) if method == "POST" else Body(request.query_params)
            return await handler(service, body, request)
        except Exception as error:
            if (refusal := refused(error)) is None:
                raise
            headers = NO_RETRY_HEADERS if refusal.status >= 500 else None
            return JSONResponse(errors(refusal.status, refusal.sentence, refusal.field), refusal.status, headers)

    return Route(path, endpoint, methods=[method])


def refused(error: Exception) -> Refused | None:
    """The error as a refusal: 503 without an engine, 400 where it refuses the request; None for any other error."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, RecursionError):  # of a body that could just be read
        return Refused(400, "The body is nested too deeply.")
    if isinstance(error, NotReady | EngineGone):
        return Refused(503, str(error))
    return Refused(400, str(error)) if isinstance(error, UserError) else None


async def server_sent(events: AsyncGenerator[dict[str, Any]], end: str | None = "[DONE]") -> Response:
    """Stream objects as server-sent events, then `end`. An error before the first one is raised; a later one is the
    last event."""

    def frame(event: dict[str, Any]) -> str:
        return f"data: {_compact(event)}\n\n"

    return StreamingResponse(
        _framed(await _begun(events), events, frame, f"data: {end}\n\n" if end else "", openai_error),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache"},
    )


async def json_lines(events: AsyncGenerator[dict[str, Any]]) -> Response:
    """Stream objects as JSON lines. Errors are as for `server_sent`, in Ollama's form."""

    def frame(event: dict[str, Any]) -> str:
        return _compact(event) + "\n"

    frames = _framed(await _begun(events), events, frame, "", plain_error)
    return StreamingResponse(frames, media_type="application/x-ndjson")


def new_id(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(12)}"


def now_s() -> int:
    return int(time.time())


async def _begun(events: AsyncGenerator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first event in a list, which is empty if there is none. While it is awaited, an error has a status."""
    try:
        return [await anext(events)]
    except StopAsyncIteration:
        return []


async def _framed(
    begun: list[dict[str, Any]],
    events: AsyncGenerator[dict[str, Any]],
    frame: Callable[[dict[str, Any]], str],
    end: str,
    errors: ErrorForm,
) -> AsyncIterator[str]:
    async with aclosing(events):
        for event in begun:
            yield frame(event)
        try:
            async for event in events:
                yield frame(event)
        except Exception as error:
            if (refusal := refused(error)) is None:
                raise
            yield frame(errors(refusal.status, refusal.sentence, refusal.field))
            return
        if end:
            yield end


def _compact(event: dict[str, Any]) -> str:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))
