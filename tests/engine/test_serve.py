"""The HTTP interface over a real socket, on a tiny model."""

import asyncio
import json
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

GAP = {"prefix": "def f(x):\n    return ", "suffix": "\n"}
LONG = {"gaps": [GAP], "end": "token", "max_tokens": 1024, "temperature": 1}


class SlowEngine(Engine):
    """Steps that take long enough to be interrupted, and a count of them."""

    steps = 0
    fails = False
    together: ClassVar[list[set[int]]] = []  # max_tokens of the jobs that were offered for a step

    def step(self, jobs):
        if self.fails:
            raise RuntimeError("out of luck")
        type(self).steps += 1
        self.together.append({job.answer.options.max_tokens for job in jobs})
        time.sleep(0.01)
        return super().step(jobs)


@pytest.fixture
def engine(tiny: Engine) -> SlowEngine:
    SlowEngine.steps = 0
    # Without end tokens a gap goes on to max_tokens.
    endless = type(
        "Endless", (), {"stops": frozenset(), "__getattr__": lambda self, name: getattr(tiny.tokenizer, name)}
    )
    return SlowEngine(tiny.model, endless())  # type: ignore[arg-type]


@pytest.fixture
def client(engine: SlowEngine) -> Iterator[httpx.Client]:
    scheduler = Scheduler(engine)
    service = Service(scheduler, "secret", "nonce", "tiny", "0", "float32", None, lambda: None)
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
        scheduler.close()


def events(client: httpx.Client, body: dict) -> list[dict]:
    answer = client.post("/v1/infill", json=body)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def test_canvases_then_fills_then_done(client: httpx.Client):
    told = events(client, {"gaps": [GAP, GAP | {"prefix": "import os\n"}], "max_tokens": 9})
    assert told[-1] == {"event": "done"}
    fills = {event["gap"]: event for event in told if event["event"] == "fill"}
    assert fills.keys() == {0, 1}
    for number, fill in fills.items():
        states = [e["committed"] for e in told if e["event"] == "canvas" and e["gap"] == number]
        assert states
        assert all(fill["text"].startswith(state) for state in states)
        cost = fill["cost"]
        assert (fill["reason"], cost["tokens"]) == ("length", 9)
        assert cost["tau"] == pytest.approx(9 / cost["forwards"], abs=1e-3)


def test_a_session_is_not_prefilled_again(client: httpx.Client):
    body = {"gaps": [GAP | {"session": "a"}], "max_tokens": 4}
    first, again = events(client, body)[-2]["cost"], events(client, body)[-2]["cost"]
    assert first["cached_tokens"] == 0
    assert again["cached_tokens"] == again["prompt_tokens"] - 1
    assert again["prefill_ms"] == 0


def test_only_the_token_lets_in_and_browsers_never(client: httpx.Client):
    for path in ("/v1/infill", "/v1/shutdown"):
        assert client.post(path, json={"gaps": [GAP]}, headers={"Authorization": "Bearer x"}).status_code == 401
        assert client.post(path, json={"gaps": [GAP]}, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/health").json()["nonce"] == "nonce"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"gaps": 3}', b"\xff"])
def test_bad_bodies_are_400_with_one_sentence(client: httpx.Client, body: bytes):
    answer = client.post("/v1/infill", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize("prefix", ["short\n", "long\n" * 4000])
def test_a_closed_connection_stops_the_work(client: httpx.Client, engine: SlowEngine, prefix: str):
    """Invariant 5: in the middle of decoding, and of prefilling."""
    body = LONG | {"gaps": [GAP | {"prefix": prefix}]}
    with client.stream("POST", "/v1/infill", json=body):
        time.sleep(0.2)
    time.sleep(0.1)
    steps = engine.steps
    time.sleep(0.3)
    assert engine.steps - steps <= 1
    assert not client.get("/health").json()["busy"]


def test_typing_goes_before_prefetching(client: httpx.Client, engine: SlowEngine):
    engine.together.clear()
    with client.stream("POST", "/v1/infill", json=LONG | {"priority": "prefetch", "max_tokens": 300}) as slow:
        lines = slow.iter_lines()
        next(lines)
        began = time.monotonic()
        events(client, {"gaps": [GAP], "max_tokens": 6})
        took = time.monotonic() - began
        assert took < 1.0, "the typing request must not wait for the other to end"
        assert json.loads(list(lines)[-1])["event"] == "done", "which still ends"
    assert {6} in engine.together
    assert {6, 300} not in engine.together


def test_a_failed_step_is_told_and_the_engine_goes_on(client: httpx.Client, engine: SlowEngine):
    type(engine).fails = True
    try:
        assert "log" in events(client, {"gaps": [GAP]})[-1]["error"]
    finally:
        type(engine).fails = False
    assert events(client, {"gaps": [GAP]})[-1] == {"event": "done"}
