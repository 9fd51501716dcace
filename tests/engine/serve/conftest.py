"""A tiny model behind the real HTTP interface."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from dlsp_engine.engine import Engine
from dlsp_engine.serve.app import Service, app
from dlsp_engine.serve.listener import Listener
from dlsp_engine.serve.scheduler import Scheduler
from dlsp_engine.serve.server import Server


class SlowEngine(Engine):
    """Steps that take long enough to be interrupted, and a count of them."""

    steps = 0
    step_s = 0.01
    fails: Exception | None = None
    together: ClassVar[list[set[int]]] = []  # max_tokens of the requests that were offered for a step

    def step(self, requests, sharing=None, short=False):
        if self.fails:
            raise self.fails
        self.steps += 1
        self.together.append({request.options.max_tokens for request in requests})
        time.sleep(self.step_s)
        return super().step(requests, sharing, short)


def has_stopped(engine: SlowEngine, client: httpx.Client) -> None:
    """After a request was left: some steps later nothing is to be done, and then nothing is."""
    left = engine.steps
    while client.get("/health").json()["busy"]:
        assert engine.steps < left + 200, "the whole work takes more"
        time.sleep(0.01)
    steps = engine.steps
    time.sleep(0.3)
    assert engine.steps == steps


@pytest.fixture
def engine(tiny: Engine) -> SlowEngine:
    SlowEngine.together.clear()
    # Without end tokens a gap goes on to max_tokens.
    endless = type(
        "Endless", (), {"stops": frozenset(), "__getattr__": lambda self, name: getattr(tiny.tokenizer, name)}
    )
    return SlowEngine(tiny.model, endless())  # type: ignore[arg-type]


def asking(address: str, token: str = "secret") -> httpx.Client:
    """A client of the engine at `unix:PATH` or `http://127.0.0.1:PORT`."""
    base, path = _there(address)
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.Client(transport=httpx.HTTPTransport(uds=path), base_url=base, headers=headers, timeout=20)


def asking_together(address: str) -> httpx.AsyncClient:
    """One for many requests at once."""
    base, path = _there(address)
    headers = {"Authorization": "Bearer secret"}
    return httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=path), base_url=base, headers=headers, timeout=60)


def _there(address: str) -> tuple[str, str | None]:
    """The URL to ask, and the path of the Unix socket to ask it over."""
    path = address.removeprefix("unix:")
    return ("http://localhost", path) if path != address else (address, None)


@pytest.fixture
def tcp() -> bool:
    """Whether the engine listens on a port of the machine: tests set it by `parametrize`."""
    return False


@pytest.fixture
def listener(tmp_path: Path, tcp: bool) -> Iterator[Listener]:
    with Listener.open(tmp_path, "tiny", tcp) as opened:
        yield opened


@pytest.fixture
def service(engine: SlowEngine, listener: Listener) -> Iterator[Service]:
    scheduler = Scheduler(engine)
    yield Service(scheduler, listener.address, "secret", "nonce", "tiny", "0", "float32", None)
    scheduler.close()
    scheduler.join()


@pytest.fixture
def served(service: Service, listener: Listener) -> Iterator[str]:
    """The address of an engine that listens."""
    servers: list[Server] = []

    async def serve() -> None:
        servers.append(Server(app(service)))
        await servers[0].serve(sockets=[listener.socket])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    while not (servers and servers[0].started):
        assert thread.is_alive()
        time.sleep(0.01)
    yield listener.address
    servers[0].end()
    thread.join()


@pytest.fixture
def client(served: str) -> Iterator[httpx.Client]:
    with asking(served) as client:
        yield client
