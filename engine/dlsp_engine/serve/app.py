"""The HTTP interface that `engine/API.md` describes."""

import asyncio
import hmac
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dlsp_engine.decode.answer import Fill
from dlsp_engine.errors import EngineError
from dlsp_engine.job import GapJob
from dlsp_engine.serve.requests import MOST_CHARACTERS, InfillRequest, TooLarge, parse
from dlsp_engine.serve.scheduler import Busy, Scheduler, Ticket
from dlsp_engine.text.prompt import Gap

API = 1
"""Counts up when a client of an earlier number could not use this engine."""

MOST_BYTES = 8 * MOST_CHARACTERS
BEAT_S = 1.0
"""A blank line is sent when nothing else was for so long: a client that hears nothing knows the process is stuck."""

BROWSER = ("origin", "sec-fetch-site", "sec-fetch-mode")


@dataclass
class Service:
    """What the routes share, and what `/health` tells. `ending` is set once it was told to shut down.

    `step` says what was chosen for this machine: `dtype`, and `costs`, milliseconds of a step by its rows.
    """

    scheduler: Scheduler
    token: str
    nonce: str
    model: str
    version: str
    dtype: str
    adapter: str | None
    step: dict[str, Any] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    last_request: float = field(default_factory=time.monotonic)
    requests: int = 0
    ending: bool = False


def app(service: Service) -> Starlette:
    scheduler, metrics = service.scheduler, service.scheduler.metrics
    metrics.watch("dlsp_waiting", "Gaps that have not ended.", lambda: scheduler.waiting)
    metrics.watch("dlsp_sessions", "Sessions kept for the next request.", lambda: len(scheduler.sessions))
    metrics.watch("dlsp_session_bytes", "Keys and values of these sessions.", lambda: scheduler.sessions.bytes)

    async def health(request: Request) -> Response:
        if refusal := _refusal(request, None):
            return refusal
        told = ("nonce", "model", "version", "dtype", "adapter", "step", "requests")
        return JSONResponse(
            {name: getattr(service, name) for name in told}
            | {"api": API, "pid": os.getpid(), "busy": scheduler.busy, "waiting": scheduler.waiting}
            | {"sessions": len(scheduler.sessions), "session_bytes": scheduler.sessions.bytes}
            | {"uptime_s": round(time.monotonic() - service.started, 1)}
            | {"stepping_s": round(scheduler.stepping_s, 3)}
        )

    async def told_metrics(request: Request) -> Response:
        if refusal := _refusal(request, service.token):
            return refusal
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def infill(request: Request) -> Response:
        if refusal := _refusal(request, service.token):
            return refusal
        try:
            wanted = parse(await _body(request))
            stream = _Stream(wanted, service)
        except EngineError as error:
            status = 413 if isinstance(error, TooLarge) else 503 if isinstance(error, Busy) else 400
            metrics.refused(status)
            return _error(status, str(error))
        service.requests += 1
        metrics.request(wanted.quiet)
        service.last_request = time.monotonic()
        return stream

    async def shutdown(request: Request) -> Response:
        if refusal := _refusal(request, service.token):
            return refusal
        service.ending = True
        return JSONResponse({}, 202)

    return Starlette(
        routes=[
            Route("/health", health),
            Route("/metrics", told_metrics),
            Route("/v1/infill", infill, methods=["POST"]),
            Route("/v1/shutdown", shutdown, methods=["POST"]),
        ],
        # A page whose name resolves to this machine sends its own name.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"], www_redirect=False)],
    )


def _error(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


def _refusal(request: Request, token: str | None) -> Response | None:
    """The token, where one is asked, lets in; a browser never gets in, whatever it carries."""
    if any(name in request.headers for name in BROWSER):
        return _error(403, "Requests from a browser are refused.")
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token is not None and not hmac.compare_digest(given.encode(), token.encode()):
        return _error(401, "The bearer token is missing or wrong; it stands in the engine's state file.")
    return None


async def _body(request: Request) -> Any:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise TooLarge(f"The body is larger than {MOST_BYTES} bytes.")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise EngineError("The body is not valid JSON.") from error


class _Stream(StreamingResponse):
    """The answer to one request. Its gaps are handed to the scheduler at once, which may raise Busy.

    Whatever is not done when the response ends, as it does with a closed connection, is cancelled.
    """

    def __init__(self, wanted: InfillRequest, service: Service) -> None:
        super().__init__(self._lines(), media_type="application/x-ndjson")
        self._service = service
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._tickets: list[Ticket] = []
        try:
            # A session serves its newest request: one that still holds it would leave nothing to go on from.
            service.scheduler.cancel(gap.session for gap in wanted.gaps)
            for number, gap in enumerate(wanted.gaps):
                ticket = self._ticket(number, gap, wanted)
                service.scheduler.submit(ticket)
                self._tickets.append(ticket)
        except Busy:
            self._cancel()
            raise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._service.last_request = time.monotonic()
            self._cancel()

    async def _lines(self) -> AsyncIterator[bytes]:
        """Events of all gaps as they happen."""
        unfilled = len(self._tickets)
        while unfilled:
            try:
                event = await asyncio.wait_for(self._events.get(), BEAT_S)
            except TimeoutError:
                yield b"\n"
                continue
            yield _line(event)
            if event["event"] == "error":
                return
            unfilled -= event["event"] == "fill"
        yield _line({"event": "done"})

    def _cancel(self) -> None:
        for ticket in self._tickets:
            ticket.cancelled.set()

    def _ticket(self, number: int, gap: Gap, wanted: InfillRequest) -> Ticket:
        def put(event: dict[str, Any]) -> None:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._events.put_nowait, event)

        return Ticket(
            gap,
            wanted.options,
            wanted.priority,
            on_step=lambda job: put(_canvas(number, job)),
            on_end=lambda outcome: put(_ended(number, outcome)),
        )


def _line(event: dict[str, Any]) -> bytes:
    return json.dumps(event, ensure_ascii=False).encode() + b"\n"


def _canvas(number: int, job: GapJob) -> dict[str, Any]:
    committed, canvas = job.state()
    told = {"event": "canvas", "gap": number, "committed": committed, "canvas": canvas}
    return told | {"confidence": _confidence(job.answer.confidence)}


def _ended(number: int, outcome: Fill | str) -> dict[str, Any]:
    if isinstance(outcome, str):
        return {"event": "error", "error": outcome}
    cost = {name: round(value, 2) for name, value in asdict(outcome.cost).items()}
    cost["tau"] = round(outcome.cost.tau, 3)
    told = {"event": "fill", "gap": number, "text": outcome.text, "reason": outcome.reason, "cost": cost}
    return told | {"confidence": _confidence(outcome.confidence)}


def _confidence(pairs: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    return [(width, round(log_p, 3)) for width, log_p in pairs]
