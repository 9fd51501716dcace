import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx
import pytest

from dlsp.api.admission import LOOPBACK_HOSTS
from dlsp.api.app import DIALECTS, app
from dlsp.api.listener import listen
from dlsp.api.server import Server
from dlsp.api.wire import Service
from dlsp.engine.connection import EngineConnection, SilentListener
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.stub_engine import StubEngine

Serve = Callable[..., Any]


@asynccontextmanager
async def serving(key: str | None = None, same_user: bool = False, dialects: Any = DIALECTS) -> AsyncIterator[str]:
    """The API before the stub engine, on a free port; yields its address."""
    connection = EngineConnection(DEFAULT, SilentListener())
    assert await connection.ready()
    service = Service.of(connection, DEFAULT)
    sockets = listen("127.0.0.1", [0])
    server = Server(app(service, key, LOOPBACK_HOSTS, dialects), same_user)
    running = asyncio.create_task(server.run_on(sockets[:1]))
    try:
        yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    finally:
        server.end()
        with suppress(asyncio.CancelledError):
            await running
        await connection.close()
        for each in sockets:
            each.close()


@pytest.fixture
async def api(stub: StubEngine) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API, without a key."""
    async with serving() as address, httpx.AsyncClient(base_url=address, timeout=20) as client:
        yield client
