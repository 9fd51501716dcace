"""The team's server as an ASGI application: users' tokens and limits, before the interfaces of `dlsp.api` and that of
the engine. It knows nothing of Ray."""

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dlsp.api import app as api
from dlsp.api.admission import Disconnects
from dlsp.api.wire import Service, openai_error, plain_error
from dlsp.engine.remote import ANY_MODEL
from dlsp.models.catalogue import find
from dlsp.team.config import Config
from dlsp.team.engines import PATHS, Lost, Replicas, UserEngine, UserReplicas
from dlsp.team.measures import NOBODY, Ended, Measures
from dlsp.team.users import Users

ENGINE_PATH = "/engine/"
METRICS_PATH = "/metrics"
METRICS_USER = "metrics"  # the only one who may read the metrics
USER_KEY, REPLICA_KEY = "dlsp.user", "dlsp.replica"  # in a request's ASGI scope
UNKNOWN_USER = "The token is missing, wrong or revoked: ask the server's administrator for one."
TOO_LARGE = "The request is larger than {} bytes, the most that one user may send."


def team(config: Config, models: Mapping[str, Replicas], users: Users, measures: Measures) -> ASGIApp:
    """The application; `models` are the replicas of each served model by its short name, in the configuration's order.
    The dialects of other clients are those of the first one."""
    first = next(iter(models))
    service = {ANY_MODEL: models[first], **models}

    async def engine(request: Request) -> Response:
        path = f"/{request.path_params['path']}"
        if (found := service.get(request.path_params["model"])) is None:
            return _plain(404, f"This server has no such model: it has {', '.join(models)}.")
        replicas = UserReplicas(found, request.scope[USER_KEY])
        if (request.method, path) == ("GET", "/health"):
            return await _forwarded(request.scope, replicas, "GET", path, {})
        if request.method != "POST" or path not in PATHS:
            return _plain(404, "There is no such path, or it takes another method.")
        try:
            body: Any = json.loads(await request.body())
        except (ValueError, RecursionError):
            return _plain(400, "The body is not valid JSON.")
        if not isinstance(body, dict):
            return _plain(400, "The body must be a JSON object.")
        return await _forwarded(request.scope, replicas, "POST", path, cast("dict[str, Any]", body))

    async def metrics(request: Request) -> Response:
        if request.scope[USER_KEY] != METRICS_USER:
            return _plain(403, f"Metrics are for the user '{METRICS_USER}' alone.")
        return Response(measures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return Starlette(
        routes=[
            Route(ENGINE_PATH + "{model}/{path:path}", engine, methods=["GET", "POST"]),
            Route(METRICS_PATH, metrics),
            Mount("/", _Dialects(models[first], first)),
        ],
        middleware=[
            Middleware(_Door, users=users, measures=measures, most_bytes=config.limits.request_bytes),
            Middleware(Disconnects),
        ],
    )


async def _forwarded(scope: Scope, replicas: UserReplicas, method: str, path: str, body: dict[str, Any]) -> Response:
    """The replica's answer as it comes. Once it has begun, a lost replica is the last line's error."""
    stack = AsyncExitStack()
    try:
        answer = await stack.enter_async_context(replicas.asked(method, path, body))
    except Lost as error:
        return _plain(503, str(error))
    scope[REPLICA_KEY] = answer.replica

    async def lines() -> AsyncIterator[bytes]:
        async with stack:
            try:
                async for piece in answer.body:
                    yield piece
            except Lost as error:
                yield json.dumps({"event": "error", "error": str(error)}).encode() + b"\n"

    kind = "application/x-ndjson" if method == "POST" and answer.status < 400 else "application/json"
    return StreamingResponse(lines(), answer.status, media_type=kind)


class _Dialects:
    """Other clients' interfaces. Each user has their own, so that nobody's prompt is taken for another's."""

    def __init__(self, replicas: Replicas, model: str) -> None:
        self._replicas, self._model = replicas, find(model)
        self._by_user: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope[USER_KEY]
        if user not in self._by_user:
            service = Service.of(UserEngine(UserReplicas(self._replicas, user)), self._model)
            self._by_user[user] = api.app(service, None, None)
        await self._by_user[user](scope, receive, send)


class _Door:
    """Middleware that lets in whoever has a token and is within the limits, and measures each request."""

    def __init__(self, app: ASGIApp, users: Users, measures: Measures, most_bytes: int) -> None:
        self._app, self._users, self._measures, self._most_bytes = app, users, measures, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status, sent, read = time.monotonic(), 499, 0, 0  # 499: the client left before an answer
        user = self._users.of(_token(Request(scope)))

        async def counted_receive() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most_bytes:
                raise _TooLarge
            return message

        async def counted_send(message: Message) -> None:
            nonlocal status, sent
            status = message.get("status", status)
            sent += len(message.get("body", b""))
            await send(message)

        self._measures.began()
        try:
            if user is None:
                await _refusal(scope, 401, UNKNOWN_USER)(scope, receive, counted_send)
                return
            scope[USER_KEY] = user
            if refused := self._users.begin(user):
                await _refusal(scope, 429, refused)(scope, receive, counted_send)
                return
            try:
                await self._app(scope, counted_receive, counted_send)
            except _TooLarge:
                sentence = TOO_LARGE.format(self._most_bytes)
                await _refusal(scope, 413, sentence)(scope, receive, counted_send)
            finally:
                self._users.end(user)
        finally:
            what, seconds = what_of(scope["path"]), time.monotonic() - began
            replica = scope.get(REPLICA_KEY, "")
            self._measures.ended(Ended(user or NOBODY, what, status, seconds, read, sent, replica))


class _TooLarge(Exception):
    """The body is larger than a user may send."""


def what_of(path: str) -> str:
    """A word for the path, of a fixed set: a client may put any text into one."""
    last = path.rpartition("/v1/")[2] if path.startswith(ENGINE_PATH) else ""
    if last and f"/v1/{last}" in PATHS:
        return last
    if path.startswith(ENGINE_PATH) and path.endswith("/health"):
        return "health"
    return "metrics" if path == METRICS_PATH else "other" if path.startswith(ENGINE_PATH) else "dialect"


def _token(request: Request) -> str:
    given = request.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return given or request.headers.get("x-api-key", "") or request.headers.get("api-key", "")


def _plain(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


def _refusal(scope: Scope, status: int, sentence: str) -> Response:
    path = scope["path"]
    form = plain_error if path.startswith(("/api/", ENGINE_PATH)) else openai_error
    return JSONResponse(form(status, sentence), status, {"Retry-After": "1"} if status == 429 else None)
