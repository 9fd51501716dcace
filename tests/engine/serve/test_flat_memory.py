"""Requests that have ended hold no keys and values, whatever they held while they ran."""

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psutil
import pytest

from dlsp_engine.model.cache import living_bytes
from dlsp_engine.serve.app import Service
from dlsp_engine.serve.memory import return_freed_memory
from tests.engine.serve.conftest import SlowEngine

MOST_BYTES = 200_000
GAPS, PROMPT_TOKENS = 16, 600
# After so many requests the process has all that it needs, and what it takes may grow by this share.
WARM, MAX_GROWTH = 100, 0.05
LONG = (pytest.mark.prove, pytest.mark.timeout(3600))
# Hands a number to the report of `make prove`.
Record = Callable[[str, object], None]


@pytest.fixture
def kept(service: Service, engine: SlowEngine) -> Iterator[Service]:
    """An engine that may keep two of a request's sessions. Nothing is left to the garbage collector."""
    engine.step_s = 0
    service.scheduler.sessions.most_bytes = MOST_BYTES
    gc.collect()
    gc.disable()
    yield service
    gc.enable()


def worst(number: int, **more: Any) -> dict[str, Any]:
    """Many gaps with prompts that have nothing in common, each with a session of its own."""
    gaps = [
        {"prefix": f"{number}.{gap} ".ljust(PROMPT_TOKENS, chr(ord("a") + gap)), "suffix": "", "session": f"s{gap}"}
        for gap in range(GAPS)
    ]
    return {"gaps": gaps, "max_tokens": 2, "mode": "autoregressive"} | more


def only_kept_is_alive(service: Service, before: int) -> None:
    deadline = time.monotonic() + 5
    while service.scheduler.busy or living_bytes() - before > MOST_BYTES:
        assert time.monotonic() < deadline, f"{living_bytes() - before} bytes are alive, {MOST_BYTES} may be kept"
        time.sleep(0.005)
    assert living_bytes() - before == service.scheduler.sessions.bytes


class Process:
    """The memory of this process, engine and test together, from request WARM on: without garbage, which is collected
    elsewhere, and without what the engine of these tests notes of its steps.
    """

    def __init__(self) -> None:
        self.first = self._number = 0

    def sample(self, engine: SlowEngine) -> None:
        engine.together.clear()
        self._number += 1
        if self._number == WARM:
            self.first = self._bytes()

    def is_flat(self, record: Record) -> None:
        if self.first:
            last = self._bytes()
            record("first_mb", round(self.first / 1e6, 1))
            record("last_mb", round(last / 1e6, 1))
            record("growth", round(growth := last / self.first - 1, 4))
            assert growth < MAX_GROWTH

    def _bytes(self) -> int:
        gc.collect()
        return_freed_memory()
        return psutil.Process().memory_info().rss


@pytest.mark.parametrize("requests", [5, pytest.param(1000, marks=LONG)])
def test_answered(client: httpx.Client, kept: Service, engine: SlowEngine, requests: int, record_property: Record):
    before, process = living_bytes(), Process()
    for number in range(requests):
        process.sample(engine)
        answer = client.post("/v1/infill", json=worst(number))
        assert answer.text.endswith('{"event": "done"}\n')
        only_kept_is_alive(kept, before)
    process.is_flat(record_property)
    health = client.get("/health").json()
    assert health["cache_bytes"] - before == health["session_bytes"] <= MOST_BYTES
    assert f"dlsp_cache_bytes {float(health['cache_bytes'])}" in client.get("/metrics").text


@pytest.mark.parametrize("requests", [5, pytest.param(1000, marks=LONG)])
def test_left_in_the_middle(
    client: httpx.Client, kept: Service, engine: SlowEngine, requests: int, record_property: Record
):
    before, process = living_bytes(), Process()
    for number in range(requests):
        process.sample(engine)
        with client.stream("POST", "/v1/infill", json=worst(number, max_tokens=1024)) as answer:
            next(answer.iter_bytes())
        only_kept_is_alive(kept, before)
    process.is_flat(record_property)


def test_sites_left_in_the_middle(client: httpx.Client, kept: Service):
    before = living_bytes()
    edit = [{"path": "edit.diff", "text": "-a\n+b\n"}]
    for number in range(5):
        sites = [
            {"prefix": f"{number}.{site} " + "a" * 300, "suffix": "", "text": "b" * 200, "candidates": ["c" * 200]}
            for site in range(8)
        ]
        body = {"sites": sites, "edit": edit, "max_tokens": 200}
        with client.stream("POST", "/v1/sites", json=body) as answer:
            next(answer.iter_bytes())
        only_kept_is_alive(kept, before)
