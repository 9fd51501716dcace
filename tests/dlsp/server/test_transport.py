"""What the server writes: in order, what belongs together at once. And when it collects garbage."""

import asyncio
import gc
import io
from typing import Any

import pytest

from dlsp.server import transport
from dlsp.server.transport import Writer


class File(io.BytesIO):
    """Notes what each call wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[bytes] = []

    def write(self, data: Any) -> int:
        self.calls.append(bytes(data))
        return len(data)


class Broken(io.BytesIO):
    def write(self, data: Any) -> int:
        raise BrokenPipeError


async def test_messages_of_one_turn_and_the_answer_after_it_are_one_write() -> None:
    file = File()
    writer = Writer(file, broken=lambda: None)

    async def handler() -> None:
        writer.write(b"log, ")
        writer.write(b"notification, ")

    task = asyncio.create_task(handler())
    task.add_done_callback(lambda _: writer.write(b"answer"))
    await task
    await asyncio.sleep(0.01)
    assert file.calls == [b"log, notification, answer"]


async def test_other_threads_may_write() -> None:
    file = File()
    writer = Writer(file, broken=lambda: None)
    await asyncio.to_thread(writer.write, b"report")
    await asyncio.sleep(0.01)
    assert b"".join(file.calls) == b"report"


async def test_what_is_pending_is_written_at_the_end() -> None:
    file = File()
    writer = Writer(file, broken=lambda: None)
    writer.write(b"last")
    writer.close()
    assert file.calls == [b"last"]


async def test_an_editor_that_does_not_read_any_more() -> None:
    told: list[bool] = []
    writer = Writer(Broken(), broken=lambda: told.append(True))
    writer.write(b"a")
    await asyncio.sleep(0.01)
    assert told == [True]


async def test_only_a_timer_runs_full_collections_and_in_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "SETTLED_S", 0.01)
    monkeypatch.setattr(transport, "COLLECT_S", 0.05)
    monkeypatch.setattr(transport, "PAUSE_S", 0.02)
    asked: list[float] = []
    types = False

    def heard_at() -> float:
        asked.append(time := asyncio.get_running_loop().time())
        return time if types else -float("inf")

    thresholds, full = gc.get_threshold(), lambda: gc.get_stats()[2]["collections"]
    collected = asyncio.Event()

    def noted(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            collected.set()

    gc.callbacks.append(noted)
    try:
        transport.collect_garbage(asyncio.get_running_loop(), heard_at)
        frozen, before = gc.get_freeze_count(), full()
        assert frozen > 10_000
        kept = [[number] for number in range(300_000)]  # as a search for edits does
        assert full() == before
        collected.clear()
        await asyncio.wait_for(collected.wait(), 10)
        assert gc.get_freeze_count() > frozen, "what was made first counts as permanent, too"
        assert len(kept) == 300_000
        types, before = True, full()
        asked.clear()
        async with asyncio.timeout(10):
            while len(asked) < 5:  # a collection is due, and put off
                await asyncio.sleep(0.01)
        assert full() == before
        types = False
        collected.clear()
        await asyncio.wait_for(collected.wait(), 10)
    finally:
        gc.callbacks.remove(noted)
        gc.unfreeze()
        gc.set_threshold(*thresholds)
