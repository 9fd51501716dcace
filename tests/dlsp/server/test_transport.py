"""What the server writes: in order, what belongs together at once, and never with a traceback."""

import asyncio
import io
from typing import Any

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
