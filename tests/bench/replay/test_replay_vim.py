"""llama.vim's policy against a server that says what a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from bench.replay.contender import Place
from bench.replay.costs import Costs
from bench.replay.ring import Ring, likeness
from bench.replay.scripts import Script
from bench.replay.vim import Vim
from bench.replay.window import window

LONG = "".join(f"line {n}\n" for n in range(400))


class Server:
    """Answers `/infill` with `text` piece by piece."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        self.address = ""
        self.text: str | list[str] = "urn a"

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            await self.serve(reader, writer)
        writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
            self.asked.append(json.loads(await reader.readexactly(length)))
            pieces = [
                {"content": piece, "timings": {"prompt_n": 10, "predicted_n": number + 1}}
                for number, piece in enumerate(self.text if isinstance(self.text, list) else [self.text])
            ]
            body = b"".join(b"data: %b\n\n" % json.dumps(piece).encode() for piece in pieces)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    server.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield server
    listening.close()


@pytest.fixture
async def vim(server: Server) -> AsyncIterator[Vim]:
    vim = Vim(server.address, Costs(0.1, 0.01, 0.03, 0.0))
    await vim.open(Script("x", "writing", "x", "", "x.py", "\n", ()))
    yield vim
    await vim.close()


def test_the_window_is_256_lines_and_64():
    lines = LONG.splitlines(keepends=True)
    seen = window(Place("".join(lines[:300]) + "abc", "d\n" + "".join(lines[300:])))
    assert (len(seen.above), seen.line, seen.rest, len(seen.below)) == (256, "abc", "d", 64)
    assert seen.above[0] == "line 44"


def test_a_blank_line_is_begun_anew():
    assert window(Place("a\n    ", "\nb")).line == ""


async def test_what_is_typed_as_foretold_is_shown_without_asking(vim: Vim, server: Server):
    await vim.act(Place("ret", "\n"))
    shown = await vim.wait(5)
    assert shown
    assert (shown.text, shown.memory) == ("urn a", False)
    await vim.act(Place("retu", "\n", "u"))
    shown = await vim.wait(5)
    assert shown
    assert (shown.text, shown.memory) == ("rn a", True)


async def test_time_is_counted_not_waited_for(vim: Vim):
    began = vim.now()
    await vim.act(Place("ret", "\n"))
    assert await vim.wait(0.22) is None
    assert vim.now() == pytest.approx(began + 0.22)
    assert await vim.wait(5)
    assert vim.now() == pytest.approx(began + 0.1 + 10 * 0.01 + 0.03)


async def test_an_answer_may_take_250_ms_once_it_has_a_line(vim: Vim, server: Server):
    server.text = ["long "] * 20 + ["end\n", "more"]
    await vim.act(Place("", "\n"))
    shown = await vim.wait(5)
    assert shown
    assert shown.text == "long " * 20 + "end"


async def test_what_follows_is_asked_for_ahead(vim: Vim, server: Server):
    await vim.act(Place("ret", "\n"))
    await vim.wait(5)
    await vim.rest(1)
    assert [asked["prompt"] for asked in server.asked] == ["ret", "return a"]
    assert server.asked[0]["n_predict"] == 128
    assert vim.work.forwards == 2


async def test_a_request_in_flight_is_waited_for_and_the_newest_place_asked_then(vim: Vim, server: Server):
    server.text = "nothing like it"
    for typed in ("r", "re", "ret"):
        await vim.act(Place(typed, "\n", typed[-1]))
        assert await vim.wait(0.02) is None
        assert vim.quiet == ""
    assert [asked["prompt"] for asked in server.asked] == ["r"]
    await vim.rest(2)
    assert [asked["prompt"] for asked in server.asked][:2] == ["r", "ret"]


async def test_nothing_is_asked_with_more_than_8_characters_to_the_right(vim: Vim, server: Server):
    await vim.act(Place("f(", "1234567, 9)\n"))
    assert await vim.wait(1) is None
    assert vim.quiet
    assert not server.asked


async def test_a_repeat_of_the_next_line_is_not_shown(vim: Vim, server: Server):
    server.text = "turn a"
    await vim.act(Place("re", "\nreturn a\n"))
    assert await vim.wait(1) is None


async def test_a_cursor_that_is_still_brings_queued_chunks_in(vim: Vim, server: Server):
    await vim.open(Script("y", "writing", "y", "", "y.py", LONG, ()))
    server.text = ""
    await vim.act(Place(LONG, "x"))
    await vim.wait(1)
    await vim.rest(2)
    assert len(server.asked) == 1, "the cursor has not been still for long"
    await vim.rest(5)
    assert server.asked[-1]["n_predict"] == 0
    assert server.asked[-1]["input_extra"]


def test_chunks_of_the_file_are_picked_once_the_cursor_has_come_far():
    ring, lines = Ring(256, 64), LONG.splitlines()
    ring.asked("x", lines, 300)
    assert [chunk[0] for _, chunk in ring.queued] == ["line 0", "line 364"]
    ring.asked("x", lines, 310)
    assert len(ring.queued) == 2
    while ring.update():
        pass
    assert [each["filename"] for each in ring.extra] == ["x", "x"]


def test_chunks_like_what_is_around_the_cursor_make_way():
    ring, words = Ring(256, 64), ["alpha beta gamma"] * 5
    ring.pick("x", words)
    ring.update()
    ring.make_way(["other words here"] * 5, 0)
    assert ring.chunks
    ring.make_way(words, 0)
    assert not ring.chunks
    assert likeness(["a b"], ["a c"]) == 0.5
