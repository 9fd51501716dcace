import asyncio
import json
import socket
import sys
import threading
from contextlib import aclosing

import pytest

from dlsp.engine import launch
from dlsp.engine.client import CLIENT, Engine, EngineError, EngineGone, EngineSilent
from dlsp.models.catalogue import DEFAULT
from tests.dlsp.stub_engine import COST, StubEngine

REQUEST = {"gaps": [{"prefix": "p", "suffix": "s"}]}


async def engine_of(stub: StubEngine) -> Engine:
    engine = await launch.connect(DEFAULT)
    assert engine is not None
    return engine


async def test_events_as_they_come(stub: StubEngine) -> None:
    async with await engine_of(stub) as engine:
        events = [event async for event in engine.infill(REQUEST)]
        await engine.fill(REQUEST | {"client": "another"})
    assert [event["event"] for event in events] == ["canvas", "fill"]
    assert stub.requests == [REQUEST] * 2
    assert stub.clients == [CLIENT, "another"]
    assert events[1]["cost"] == COST


async def test_each_window_of_a_rewrite(stub: StubEngine) -> None:
    async with await engine_of(stub) as engine:
        events = [event async for event in engine.rewrite({"windows": [{"text": "a\n"}, {"text": "b\n"}]})]
    assert [(event["event"], event["window"]) for event in events] == [("rewrite", 0), ("rewrite", 1)]


async def test_any_character_inside_a_text(stub: StubEngine) -> None:
    text = "a\u2028b\x85c\x0cd\ne😋"
    event = {"event": "fill", "gap": 0, "text": text, "reason": "line", "cost": COST}
    stub.raw = (json.dumps(event, ensure_ascii=False) + '\n{"event": "done"}\n').encode()
    async with await engine_of(stub) as engine:
        assert (await engine.fill(REQUEST))["text"] == text


async def test_refusal(stub: StubEngine) -> None:
    stub.status, stub.raw = 400, b'{"error": "No gap was given."}'
    async with await engine_of(stub) as engine:
        with pytest.raises(EngineError, match=r"^No gap was given\.$"):
            await engine.fill(REQUEST)


async def test_an_engine_that_compiles_a_constraint_is_not_taken_for_stuck(
    stub: StubEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlsp.engine.client.SILENCE_TIMEOUT_S", 0.3)
    stub.hold.set()
    async with await engine_of(stub) as engine:
        with pytest.raises(EngineSilent):
            await engine.fill(REQUEST)
        asking = asyncio.create_task(engine.fill(REQUEST | {"constraint": {"regex": "a+"}}))
        assert not (await asyncio.wait([asking], timeout=1))[0]
        stub.hold.clear()
        assert (await asking)["text"] == "a + b"


async def test_failure_on_the_way(stub: StubEngine) -> None:
    stub.raw = b'{"event": "canvas", "gap": 0}\n{"event": "error", "error": "Out of memory."}\n'
    async with await engine_of(stub) as engine:
        with pytest.raises(EngineError, match="Out of memory"):
            await engine.fill(REQUEST)


@pytest.mark.parametrize("body", [b"", b'{"event": "canvas", "gap": 0}\n', b"<html>\n"])
async def test_an_answer_that_breaks_off(stub: StubEngine, body: bytes) -> None:
    stub.raw = body
    async with await engine_of(stub) as engine:
        with pytest.raises(EngineGone):
            await engine.fill(REQUEST)


async def test_nobody_there(stub: StubEngine) -> None:
    async with await engine_of(stub) as engine:
        stub.die()
        with pytest.raises(EngineGone):
            await engine.fill(REQUEST)


async def test_a_connection_is_kept_for_the_next_request(stub: StubEngine) -> None:
    async with await engine_of(stub) as engine:
        for _ in range(3):
            await engine.fill(REQUEST)
        assert len(stub.connections) == 1
        stub.leave()  # as an engine does with one that was idle for some seconds
        assert (await engine.fill(REQUEST))["text"] == "a + b"
        assert len(stub.requests) == 4


async def test_a_connection_is_not_kept_after_half_an_answer(stub: StubEngine) -> None:
    async with await engine_of(stub) as engine:
        async with aclosing(engine.infill(REQUEST)) as events:
            await anext(events)
        assert (await engine.fill(REQUEST))["text"] == "a + b"


async def test_several_requests_at_once(stub: StubEngine) -> None:
    stub.answer = lambda request: request["gaps"][0]["prefix"]
    async with await engine_of(stub) as engine:
        asked = [engine.fill({"gaps": [{"prefix": str(number), "suffix": ""}]}) for number in range(8)]
        assert [each["text"] for each in await asyncio.gather(*asked)] == [str(number) for number in range(8)]


@pytest.mark.skipif(sys.platform == "win32", reason="an engine listens on TCP there")
async def test_a_full_backlog_is_waited_for(stub: StubEngine) -> None:
    async with await engine_of(stub) as engine:
        stub.http.shutdown()  # accepts nothing, and still listens
        stub.leave()
        stub.http.socket.listen(0)
        with socket.socket(socket.AF_UNIX) as first:
            first.connect(stub.address.removeprefix("unix:"))  # the one that may wait to be accepted
            asked = asyncio.create_task(engine.fill(REQUEST))
            _, still = await asyncio.wait([asked], timeout=0.2)
            assert still, "answered though nothing was accepted"
        threading.Thread(target=stub.http.serve_forever, args=(0.02,), daemon=True).start()
        assert (await asked)["text"] == "a + b"


async def test_a_cancelled_task_closes_the_connection(stub: StubEngine) -> None:
    stub.hold.set()
    async with await engine_of(stub) as engine:
        task = asyncio.create_task(engine.fill(REQUEST))
        await asyncio.to_thread(stub.wait_for, lambda it: it.requests)
        task.cancel()
        await asyncio.to_thread(stub.wait_for, lambda it: it.dropped)
        assert task.cancelled()


async def test_leaving_the_events_early_closes_the_connection(stub: StubEngine) -> None:
    stub.raw = b'{"event": "canvas", "gap": 0}\n' * 3
    async with await engine_of(stub) as engine, aclosing(engine.infill(REQUEST)) as events:
        assert (await anext(events))["event"] == "canvas"


async def test_proxies_are_not_asked(stub: StubEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with await engine_of(stub) as engine:
        assert (await engine.fill(REQUEST))["text"] == "a + b"
