"""The way from the server to the replicas of a model: requests of the engine's HTTP interface, each with a session that
says which replica has its prompt."""

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

from dlsp.engine.client import EngineError, EngineGone
from dlsp.errors import UserError

log = logging.getLogger(__name__)

PATHS = ("/v1/infill", "/v1/generate", "/v1/tokens", "/v1/sites", "/v1/rewrite")
LISTS = ("gaps", "sites", "windows")
# A replica sends something each half second; silent for longer than this, it counts as lost.
SILENCE_S = 2.5
FIRST_S = 4.0  # until an answer's status, of one replica or of two
CONSTRAINT_S = 20.0  # the same where a constraint is compiled first
TYPING_BYTES = 64_000  # of a request: what an editor asks while its user types is smaller
LOST = "The engine was lost while it answered: ask again."
NONE_FREE = "No engine is free: ask again in a moment."


class Lost(UserError):
    """A replica ended, or became silent, before its answer's end."""


class Replicas(Protocol):
    """The replicas of one model."""

    def ask(self, session: str, method: str, path: str, body: bytes) -> AsyncGenerator[Any]:
        """Yield the replica's name, the status, and then the body in pieces. Requests of one session go to one replica
        as long as that is there. Closing the generator cancels the request."""
        ...


@dataclass(frozen=True)
class Answer:
    """A replica's answer. `body` can be read once, and raises Lost."""

    replica: str
    status: int
    body: AsyncIterator[bytes]


class UserReplicas:
    """A user's way to the replicas of one model."""

    def __init__(self, replicas: Replicas, user: str) -> None:
        self._replicas, self._user = replicas, user

    @asynccontextmanager
    async def asked(self, method: str, path: str, body: dict[str, Any]) -> AsyncGenerator[Answer]:
        """The answer to a request; `body` is empty for one without. Leaving the context cancels it. A request whose
        replica ends before it answers is asked once more. Raises Lost."""
        session, first_s = session_of(self._user, body), CONSTRAINT_S if "constraint" in body else FIRST_S
        until = asyncio.get_running_loop().time() + first_s
        given = json.dumps(owned(self._user, path, body), ensure_ascii=False) if body else ""
        for is_last in (False, True):
            content = given.encode("utf-8", "replace")
            async with aclosing(self._replicas.ask(session, method, path, content)) as items:
                try:
                    async with asyncio.timeout_at(until):
                        replica, status = str(await anext(items)), int(await anext(items))
                except TimeoutError:
                    raise Lost(NONE_FREE) from None
                except Exception as error:  # Ray has many, and the replica's own arrive as others
                    log.warning("A replica did not answer: %s", type(error).__name__)
                    if is_last:
                        raise Lost(NONE_FREE) from None
                    continue
                yield Answer(replica, status, _pieces(items))
                return


async def _pieces(items: AsyncGenerator[Any]) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(SILENCE_S):
                piece = await anext(items)
        except StopAsyncIteration:
            return
        except Exception as error:
            log.warning("A replica broke off: %s", type(error).__name__)
            raise Lost(LOST) from None
        yield cast("bytes", piece)


def session_of(user: str, body: dict[str, Any]) -> str:
    """A name for the user's document or chat that the request is about, from which neither can be known."""
    entries = next((body[name] for name in LISTS if isinstance(body.get(name), list) and body[name]), [body])
    first: Any = entries[0]
    entry = cast("dict[str, Any]", first) if isinstance(first, dict) else {}
    document = entry.get("session") or entry.get("path") or body.get("client") or ""
    return _hash(user, str(document))


def owned(user: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """The request as the engine gets it. Its client is the user, whatever name it gives: so users have equal shares,
    sessions of their own, and one request each that goes before others. That priority is for one gap in a prompt as
    editors send while somebody types; whatever else is asked is worked on while nobody types. Words that the engine
    would count in its metrics are left out."""
    gaps = cast("list[Any]", body["gaps"]) if isinstance(body.get("gaps"), list) else []
    one_gap = path == "/v1/infill" and len(gaps) == 1
    given = {name: value for name, value in body.items() if name != "quiet"} | {"client": _hash(user, "")}
    if body.get("priority", "typing" if one_gap else "") == "typing":
        small = len(json.dumps(body)) <= TYPING_BYTES
        given["priority"] = "typing" if one_gap and small and body.get("n", 1) == 1 else "filling"
    return given


def _hash(user: str, name: str) -> str:
    return hashlib.sha256(f"{user}\0{name}".encode("utf-8", "replace")).hexdigest()[:32]


class UserEngine:
    """The engine of one user, as `dlsp.api` asks it."""

    def __init__(self, replicas: UserReplicas) -> None:
        self._replicas = replicas

    async def ready(self) -> bool:
        return True

    def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        return self._events("/v1/infill", request)

    def generate(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        return self._events("/v1/generate", request)

    def tokens(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        return self._events("/v1/tokens", request)

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        return self._events("/v1/sites", request)

    async def _events(self, path: str, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        try:
            async with self._replicas.asked("POST", path, request) as answer:
                if answer.status >= 400:
                    raise EngineError(await _refusal(answer))
                async for line in _lines(answer.body):
                    event = json.loads(line)
                    if event["event"] == "error":
                        raise EngineError(event["error"])
                    if event["event"] == "done":
                        return
                    yield event
        except Lost as error:
            raise EngineGone(str(error)) from None


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    pending = b""
    async for piece in pieces:
        *lines, pending = (pending + piece).split(b"\n")
        for line in lines:
            if line:
                yield line


async def _refusal(answer: Answer) -> str:
    return str(json.loads(b"".join([piece async for piece in answer.body]))["error"])
