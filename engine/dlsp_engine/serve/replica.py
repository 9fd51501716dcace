"""An engine inside another process, such as a replica of a team's server: HTTP's requests in, status and body out."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from starlette.types import Message

from dlsp_engine import Engine, threads
from dlsp_engine.model.gpu import device as devices
from dlsp_engine.serve import watchdog
from dlsp_engine.serve.app import Service, app
from dlsp_engine.serve.memory import kv_budget, return_freed_memory, return_large_blocks
from dlsp_engine.serve.process import load, step_of, warm_up
from dlsp_engine.serve.scheduler import Scheduler

MAX_UNREAD = 64  # pieces of an answer that wait to be read; the engine's stream then waits


class Replica:
    """Answers what `docs/engine-http.md` describes, as the engine's process does, without sockets and files of state.

    The process ends if a step hangs, so that whoever runs it starts another.
    """

    def __init__(self, engine: Engine, kv_bytes: int, model: str, version: str, device: str = "cpu") -> None:
        self._scheduler = Scheduler(engine, kv_bytes)
        self._token = secrets.token_urlsafe(32)
        self._service = Service(
            self._scheduler,
            address="",
            token=self._token,
            nonce=secrets.token_hex(16),
            model=model,
            version=version,
            dtype=engine.dtype,
            adapter=engine.model.adapter.metadata.get("version"),
            step=step_of(engine, device),
        )
        self._app = app(self._service)
        watchdog.watch(self._scheduler, self._service.asked)

    @property
    def broken(self) -> bool:
        """Whether it can answer nothing any more."""
        return self._scheduler.broken or self._scheduler.closed

    def close(self) -> None:
        """End every request with a sentence, and then the thread of the steps."""
        self._scheduler.close()
        self._scheduler.join()

    async def ask(self, method: str, path: str, body: bytes = b"") -> AsyncGenerator[int | bytes]:
        """Yield the status, and then the body in pieces. Closing the generator cancels the request."""
        answered: asyncio.Queue[int | bytes | None] = asyncio.Queue(MAX_UNREAD)

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                await answered.put(message["status"])
            elif piece := message.get("body"):
                await answered.put(piece)

        async def answer() -> None:
            try:
                await self._app(self._scope(method, path), _body(body), send)
            finally:
                if not (task := asyncio.current_task()) or not task.cancelling():
                    await answered.put(None)

        answering = asyncio.create_task(answer())
        try:
            while (item := await answered.get()) is not None:
                yield item
            await answering  # raises what it raised
        finally:
            answering.cancel()
            await asyncio.wait([answering])

    def _scope(self, method: str, path: str) -> dict[str, Any]:
        headers = {"host": "localhost", "authorization": f"Bearer {self._token}"}
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }


def load_replica(
    model: str, file: str, cache: str, version: str, threads_: int, device: str = "auto", kv_mb: str = ""
) -> Replica:
    """Load the model's `file` and return its replica. Raises EngineError."""
    threads.use(threads_)
    return_large_blocks()
    device = devices.resolve(device)
    engine = load(Path(file), Path(cache), "auto", device)
    warm_up(engine)
    return_freed_memory()
    return Replica(engine, kv_budget(kv_mb, engine.model.kv_pool_bytes), model, version, device)


def _body(body: bytes) -> Any:
    """ASGI's `receive` of a request with this body, whose client stays."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
