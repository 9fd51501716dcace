"""The engine's HTTP interface, which `docs/engine-http.md` describes: routes, and who is admitted."""

import asyncio
import hmac
import json
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from dlsp_engine.errors import EngineError
from dlsp_engine.model.cache import living_bytes
from dlsp_engine.serve.generate import parse_generate
from dlsp_engine.serve.identity import proof
from dlsp_engine.serve.requests import MAX_CHARACTERS, Parsed, TooLarge, parse
from dlsp_engine.serve.rewrites import parse_rewrites
from dlsp_engine.serve.scheduler import Busy, Scheduler
from dlsp_engine.serve.sites import parse_sites
from dlsp_engine.serve.stream import Stream
from dlsp_engine.serve.tokens import tokens
from dlsp_engine.text.chat import Generation
from dlsp_engine.text.prompt import Gap

# The version of this API. Increase it with every change that an older client could not use.
API_VERSION = 2

MAX_BODY_BYTES = 8 * MAX_CHARACTERS

HOSTS = ("127.0.0.1", "localhost")
BROWSER = ("origin", "sec-fetch-site", "sec-fetch-mode")
PROOF = "/v1/proof"
CHALLENGE = re.compile("[0-9a-f]{64}")

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass
class Service:
    """What the routes share, and what `/health` reports. `ending` is set once the process was asked to shut down.

    Instead of polling, the event loop waits for `changed`, which is set when a request begins or ends and on shutdown.
    Other threads wait for `asked`, which is set when a request begins or ends.

    `step` describes the choices made for this machine, such as `dtype`, and `costs`, the milliseconds of a step by its
    number of rows.
    """

    scheduler: Scheduler
    address: str
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
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    asked: threading.Event = field(default_factory=threading.Event)

    def touch(self) -> None:
        """Note that a client is active: called when a request begins and when it ends."""
        self.last_request = time.monotonic()
        self.changed.set()
        self.asked.set()

    def end(self) -> None:
        """Ask the process to end soon."""
        self.ending = True
        self.changed.set()


def app(service: Service) -> Starlette:
    """Return the application with all routes, and register the scheduler's gauges in its metrics."""
    scheduler, metrics = service.scheduler, service.scheduler.metrics
    metrics.watch("dlsp_waiting", "Gaps that have not ended.", lambda: scheduler.waiting)
    metrics.watch("dlsp_sessions", "Sessions kept for the next request.", lambda: len(scheduler.sessions))
    metrics.watch("dlsp_session_bytes", "Keys and values of these sessions.", lambda: scheduler.sessions.bytes)
    metrics.watch("dlsp_cache_bytes", "Keys and values in memory, of requests and of kept sessions.", living_bytes)

    async def health(request: Request) -> Response:
        reported = ("nonce", "model", "version", "dtype", "adapter", "step", "requests")
        return JSONResponse(
            {name: getattr(service, name) for name in reported}
            | {"api": API_VERSION, "pid": os.getpid(), "busy": scheduler.busy, "waiting": scheduler.waiting}
            | {"sessions": len(scheduler.sessions), "session_bytes": scheduler.sessions.bytes}
            | {"cache_bytes": living_bytes(), "max_cache_bytes": scheduler.sessions.most_bytes}
            | {"uptime_s": round(time.monotonic() - service.started, 1)}
            | {"stepping_s": round(scheduler.stepping_s, 3)}
        )

    async def proven(request: Request) -> Response:
        challenge = request.query_params.get("challenge", "")
        if not CHALLENGE.fullmatch(challenge):
            return _error(400, "`challenge` must be 64 hexadecimal digits.")
        return JSONResponse({"proof": proof(service.token, service.address, challenge)})

    async def metrics_text(request: Request) -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def shutdown(request: Request) -> Response:
        service.end()
        return JSONResponse({}, 202)

    engine = scheduler.engine

    def parse_gaps(body: Any) -> Parsed[Gap]:
        parsed = parse(body, engine.grammars)
        if constraint := parsed.options.constraint:
            for gap in parsed.asked:  # so that the thread of the steps need not compile anything
                constraint.prepare(gap, len(engine.prompt(gap).forced))
        return parsed

    def parse_generation(body: Any) -> Parsed[Generation]:
        return parse_generate(body, lambda: engine.chat, engine.model.shape.vocab, engine.grammars)

    async def tokens_of(request: Request) -> Response:
        engine = scheduler.engine
        try:
            body = await _body(request)
            found = await run_in_threadpool(
                tokens, body, lambda: engine.chat, engine.tokenizer, engine.model.shape.vocab
            )
        except EngineError as error:
            return _error(413 if isinstance(error, TooLarge) else 400, str(error))
        except ClientDisconnect:
            return Response(status_code=400)  # the client has gone: nobody reads this
        service.touch()
        lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in (found, {"event": "done"}))
        return Response("".join(lines), media_type="application/x-ndjson")

    def streamed(parse: Callable[[Any], Parsed[Any]], in_thread: bool = False) -> Endpoint:
        """Return an endpoint that reads the request's body with `parse` and streams the results of its gaps, sites or
        windows. If the request is refused, the response is an error that says why. `in_thread` if `parse` may take
        long, as it does with a constraint.
        """

        async def answer(request: Request) -> Response:
            try:
                body = await _body(request)
                slow = in_thread or (isinstance(body, dict) and "constraint" in body)
                wanted = await run_in_threadpool(parse, body) if slow else parse(body)
                stream = Stream(wanted, scheduler, service.touch)
            except EngineError as error:
                status = 413 if isinstance(error, TooLarge) else 503 if isinstance(error, Busy) else 400
                metrics.refused(status)
                return _error(status, str(error))
            except ClientDisconnect:
                return Response(status_code=400)  # the client has gone: nobody reads this
            metrics.request(wanted.quiet)
            service.requests += 1
            service.touch()
            return stream

        return answer

    return Starlette(
        routes=[
            Route(PROOF, proven, methods=["GET"]),
            Route("/health", health),
            Route("/metrics", metrics_text),
            Route("/v1/infill", streamed(parse_gaps), methods=["POST"]),
            Route("/v1/generate", streamed(parse_generation, in_thread=True), methods=["POST"]),
            Route("/v1/tokens", tokens_of, methods=["POST"]),
            Route("/v1/sites", streamed(parse_sites), methods=["POST"]),
            Route("/v1/rewrite", streamed(parse_rewrites), methods=["POST"]),
            Route("/v1/shutdown", shutdown, methods=["POST"]),
        ],
        middleware=[Middleware(Admission, token=service.token)],
        exception_handlers={HTTPException: _unknown},
    )


class Admission:
    """Middleware that checks every request, whatever its path, before anything else does."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal(Request(scope), self._token) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    sentence = "There is no such path, or it takes another method."
    return JSONResponse({"error": sentence}, error.status_code, error.headers)


def _error(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


def _refusal(request: Request, token: str) -> Response | None:
    """Return the response that refuses a request, or None to admit it. A request needs the token, except one for the
    proof; no request may come from a browser.
    """
    if request.headers.get("host", "").split(":")[0] not in HOSTS:
        # A web page whose host name resolves to this machine sends that name (DNS rebinding).
        return _error(400, f"The header 'Host' must be one of {', '.join(HOSTS)}.")
    if any(name in request.headers for name in BROWSER):
        return _error(403, "Requests from a browser are refused.")
    if request.url.path == PROOF:
        return None  # a client checks the proof before it sends the token
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), token.encode()):
        return _error(401, "The bearer token is missing or wrong; it stands in the engine's state file.")
    return None


async def _body(request: Request) -> Any:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge(f"The body is larger than {MAX_BODY_BYTES} bytes.")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise EngineError("The body is not valid JSON.") from error
