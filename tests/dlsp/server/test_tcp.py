"""`dlsp serve --tcp`: several editors, each with a server of their own."""

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

TEXT = "def add(a, b):\n    return \n"


class Connected(Editor):
    """An editor that connects to a port."""

    def __init__(self, port: int, **given: object) -> None:
        super().__init__(**given)  # type: ignore[arg-type]
        self.port = port

    async def connect(self) -> None:
        await self.client.start_tcp("127.0.0.1", self.port)


def heed() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def port(stub: StubEngine) -> Iterator[int]:
    command = [sys.executable, "-m", "dlsp", "serve", "--tcp", "--port", "0"]
    # Ctrl-C ends it also where the tests themselves were started with the signal ignored, as in the background.
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed) as server:
        assert server.stderr is not None
        said = re.fullmatch(r"dlsp: listening on 127\.0\.0\.1:(\d+)\n", server.stderr.readline())
        assert said is not None
        try:
            yield int(said[1])
            server.send_signal(signal.SIGINT)
            assert server.wait(10) == 130
            assert server.stderr.read() == ""
        finally:
            server.kill()


async def test_two_editors_one_after_the_other_and_at_once(port: int) -> None:
    uri = "file:///project/sum.py"
    async with Connected(port, encoding="utf-8") as one, Connected(port) as other:
        one.open(uri, "# é" + TEXT)
        other.open(uri, TEXT)
        await one.ready(uri)
        await other.ready(uri)
        assert one.initialized.capabilities.position_encoding == "utf-8"
        assert other.initialized.capabilities.position_encoding == "utf-16"
        assert await other.suggestion(uri, 1, 11) is not None
        assert await one.suggestion(uri, 1, 11) is not None
    async with Connected(port) as third:
        assert await third.suggestion(uri, 1, 11) is None, "documents are an editor's own"


async def test_a_web_page_is_not_listened_to(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}'
    writer.write(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()


async def test_a_connection_that_breaks_harms_no_other(port: int) -> None:
    for start in (b"Content-Length: 500\r\n\r\n{", b"Content-Length: 5", b"Content-" + b"x" * 200_000, b""):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        writer.close()
    async with Connected(port) as editor:
        assert editor.initialized.server_info is not None
