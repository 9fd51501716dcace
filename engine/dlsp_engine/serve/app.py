"""The HTTP interface that `engine/API.md` describes."""

import asyncio
import hmac
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dlsp_engine.engine import Fill
from dlsp_engine.errors import EngineError
from dlsp_engine.job import Job
from dlsp_engine.serve.requests import MOST_CHARACTERS, InfillRequest, parse
from dlsp_engine.serve.scheduler import Scheduler, Ticket

MOST_BYTES = 8 * MOST_CHARACTERS


@dataclass
class Service:
    """What the routes share, and what `/health` tells."""

    scheduler: Scheduler
    token: str
    nonce: str
    model: str
    version: str
    dtype: str
    adapter: str | None
    shutdown: Callable[[], None]
    started: float = field(default_factory=time.monotonic)
    last_request: float = field(default_factory=time.monotonic)
    requests: int = 0


def app(service: Service) -> Starlette:
    async def health(request: Request) -> Response:
        told = ("nonce", "model", "version", "dtype", "adapter", "requests")
        return JSONResponse(
            {name: getattr(service, name) for name in told}
            | {"pid": os.getpid(), "busy": service.scheduler.busy}
            | {"uptime_s": round(time.monotonic() - service.started, 1)}
        )

    async def infill(request: Request) -> Response:
        if refusal := _refusal(request, service.token):
            return refusal
        try:
            wanted = parse(await _body(request))
        except EngineError as error:
            return _error(400, str(error))
        service.requests += 1
        service.last_request = time.monotonic()
        return StreamingResponse(_stream(wanted, service), media_type="application/x-ndjson")

    async def shutdown(request: Request) -> Response:
        if refusal := _refusal(request, service.token):
            return refusal
        service.shutdown()
        return JSONResponse({}, 202)

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/v1/infill", infill, methods=["POST"]),
            Route("/v1/shutdown", shutdown, methods=["POST"]),
        ]
    )


def _error(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


def _refusal(request: Request, token: str) -> Response | None:
    """The token alone lets in; a browser's request, which names its origin, never."""
    if "origin" in request.headers:
        return _error(403, "Requests from a browser are refused.")
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), token.encode()):
        return _error(401, "The bearer token is missing or wrong; it stands in the engine's state file.")
    return None


async def _body(request: Request) -> Any:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise EngineError(f"The body is larger than {MOST_BYTES} bytes.")
    try:
        return json.loads(body)
    except ValueError as error:
        raise EngineError("The body is not valid JSON.") from error


async def _stream(wanted: InfillRequest, service: Service) -> AsyncIterator[bytes]:
    """Events of all gaps as they happen. Leaving early, as a closed connection does, cancels what is not done."""
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def put(event: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(events.put_nowait, event)

    def ticket(number: int) -> Ticket:
        return Ticket(
            wanted.gaps[number],
            wanted.options,
            wanted.priority,
            on_step=lambda job: put(_canvas(number, job)),
            on_end=lambda fill: put(_fill(number, fill)),
        )

    tickets = [ticket(number) for number in range(len(wanted.gaps))]
    try:
        for one in tickets:
            service.scheduler.submit(one)
        for _ in tickets:
            while (event := await events.get())["event"] == "canvas":
                yield _line(event)
            yield _line(event)
            if event["event"] == "error":
                return
        yield _line({"event": "done"})
    finally:
        service.last_request = time.monotonic()
        for one in tickets:
            one.cancelled.set()


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode() + b"\n"


def _canvas(number: int, job: Job) -> dict[str, Any]:
    committed, canvas = job.state()
    return {"event": "canvas", "gap": number, "committed": committed, "canvas": canvas}


def _fill(number: int, fill: Fill | None) -> dict[str, Any]:
    if fill is None:
        return {"event": "error", "error": "The engine could not finish this gap; its log says why."}
    cost = {name: round(value, 2) for name, value in asdict(fill.cost).items()} | {"tau": round(fill.cost.tau, 3)}
    return {"event": "fill", "gap": number, "text": fill.text, "reason": fill.reason, "cost": cost}
