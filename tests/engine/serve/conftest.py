"""A tiny model behind the real HTTP interface."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import ClassVar

import httpx
import pytest
import uvicorn

from dlsp_engine.engine import Engine
from dlsp_engine.serve.app import Service, app
from dlsp_engine.serve.scheduler import Scheduler


class SlowEngine(Engine):
    """Steps that take long enough to be interrupted, and a count of them."""

    steps = 0
    step_s = 0.01
    fails: Exception | None = None
    together: ClassVar[list[set[int]]] = []  # max_tokens of the jobs that were offered for a step

    def step(self, jobs, sharing=None):
        if self.fails:
            raise self.fails
        self.steps += 1
        self.together.append({job.options.max_tokens for job in jobs})
        time.sleep(self.step_s)
        return super().step(jobs, sharing)


def has_stopped(engine: SlowEngine, client: httpx.Client) -> None:
    """After a request was left: soon nothing is to be done, and then nothing is."""
    deadline = time.monotonic() + 2
    while client.get("/health").json()["busy"]:
        assert time.monotonic() < deadline, "the whole work takes longer"
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


@pytest.fixture
def service(engine: SlowEngine) -> Iterator[Service]:
    scheduler = Scheduler(engine)
    yield Service(scheduler, "secret", "nonce", "tiny", "0", "float32", None)
    scheduler.close()
    scheduler.join()


@pytest.fixture
def client(service: Service) -> Iterator[httpx.Client]:
    server = uvicorn.Server(uvicorn.Config(app(service), log_level="warning"))
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listener])))
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        headers = {"Authorization": "Bearer secret"}
        while not server.started:
            time.sleep(0.01)
        with httpx.Client(base_url=address, headers=headers, timeout=20, trust_env=False) as client:
            yield client
        server.should_exit = True
        thread.join()
