"""What passes between the language server and the engine, looked at on the way: bytes go on as they come."""

import asyncio
import json
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from dlsp.engine.connections import UNIX
from dlsp.errors import UserError

CHUNK = 65_536


@dataclass
class Exchange:
    """One infill request. `fill` is its answer, None while there is none; `steps` counts its events before that."""

    priority: str
    fill: dict[str, Any] | None = None
    steps: int = 0
    ended: bool = False

    @property
    def forwards(self) -> int:
        return self.fill["cost"]["forwards"] if self.fill else self.steps


@dataclass
class Tap:
    """Stands in front of the engine at `address`. `exchanges` are all infill requests so far, in order."""

    address: str
    exchanges: list[Exchange] = field(default_factory=list)
    _server: asyncio.Server | None = None
    _folder: tempfile.TemporaryDirectory[str] | None = None

    async def open(self) -> str:
        """The address to connect to instead of the engine's. UserError where the engine has no Unix socket."""
        if not self.address.startswith(UNIX):
            raise UserError("Replays look at what passes through a Unix socket, which this system does not have.")
        self._folder = tempfile.TemporaryDirectory(prefix="dlsp-tap-")
        path = f"{self._folder.name}/tap.sock"
        self._server = await asyncio.start_unix_server(self._connected, path)
        return f"{UNIX}{path}"

    async def close(self) -> None:
        if self._server:
            self._server.close()
        if self._folder:
            self._folder.cleanup()

    @property
    def busy(self) -> bool:
        return any(not exchange.ended for exchange in self.exchanges[-8:])

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, to = await asyncio.open_unix_connection(self.address.removeprefix(UNIX))
            connection = _Connection(self.exchanges)
            ways = [
                asyncio.create_task(_pass(reader, to, connection.asked)),
                asyncio.create_task(_pass(there, writer, connection.answered)),
            ]
            # The first that ends, ends the other: a client that goes away cancels its request.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            connection.end()
            to.close()
        writer.close()


class _Connection:
    """Reads along: HTTP/1.1 with a JSON body one way, JSON lines in chunks the other."""

    def __init__(self, exchanges: list[Exchange]) -> None:
        self._exchanges = exchanges
        self._exchange: Exchange | None = None
        self._request = self._answer = b""

    def asked(self, data: bytes) -> None:
        self._request += data
        head, found, body = self._request.partition(b"\r\n\r\n")
        if not found:
            return
        length = next(
            (int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0
        )
        if len(body) < length:
            return
        self._request = body[length:]
        if head.startswith(b"POST /v1/infill"):
            self._exchange = Exchange(json.loads(body[:length]).get("priority", "typing"))
            self._exchanges.append(self._exchange)

    def answered(self, data: bytes) -> None:
        if self._exchange is None:
            return
        *lines, self._answer = (self._answer + data).split(b"\n")
        for event in _events(lines):
            self._exchange.steps += event["event"] == "canvas"
            if event["event"] == "fill":
                self._exchange.fill = event
            if event["event"] in ("fill", "done", "error"):
                self._exchange.ended = True

    def end(self) -> None:
        if self._exchange:
            self._exchange.ended = True


def _events(lines: list[bytes]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(b'{"event"'):
            yield json.loads(line)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, look: Any) -> None:
    with suppress(OSError):
        while data := await reader.read(CHUNK):
            look(data)
            writer.write(data)
            await writer.drain()
