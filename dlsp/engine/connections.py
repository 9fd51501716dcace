"""HTTP/1.1 to one address of this machine: a general client takes longer than all else that a keystroke needs."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

CONNECT_S, READ_S = 2.0, 5.0
"""Seconds until there is a connection, and between two pieces of an answer."""
MOST_IDLE = 4
CHUNK = 2**16

Headers = list[tuple[str, str]]


class Broken(Exception):
    """There is no connection, or no answer on it that makes sense."""


class Silent(Broken):
    """Nothing came in time."""


@dataclass(frozen=True)
class Answer:
    """`body` comes in pieces as they arrive, and can be read once."""

    status: int
    body: AsyncIterator[bytes]

    async def read(self) -> bytes:
        """The whole body."""
        return b"".join([piece async for piece in self.body])


class Connections:
    """Each carries one request at a time and is kept for the next one, if the answer was read to its end."""

    def __init__(self, address: str, headers: Headers) -> None:
        parts = urlsplit(address)
        self._place = parts.hostname, parts.port
        self._headers: Headers = [("Host", parts.netloc), *headers]
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()

    @asynccontextmanager
    async def ask(self, method: str, path: str, body: bytes = b"", read_s: float = READ_S) -> AsyncGenerator[Answer]:
        """The answer to one request. Leaving before its end closes the connection. Raises Broken."""
        head = h11.Request(
            method=method,
            target=path,
            headers=[*self._headers, ("Content-Type", "application/json"), ("Content-Length", str(len(body)))],
        )
        connection, status = await self._asked(head, body, read_s)
        try:
            yield Answer(status, connection.body(read_s))
        finally:
            if connection.again() and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
            else:
                self._close(connection)

    def close(self) -> None:
        """Close all connections; who waits on one is told that it broke."""
        for connection in list(self._open):
            self._close(connection)
        self._idle.clear()

    async def _asked(self, head: h11.Request, body: bytes, read_s: float) -> "tuple[_Connection, int]":
        """A connection that has been asked, and the answer's status."""
        while self._idle:
            kept = self._idle.pop()
            try:
                return kept, await self._status(kept, head, body, read_s)
            except Silent:
                raise
            except Broken:
                continue  # the engine closes what it was not asked on for some seconds
        try:
            async with asyncio.timeout(CONNECT_S):
                connection = _Connection(*await asyncio.open_connection(*self._place))
        except (OSError, ValueError) as error:
            raise Broken(type(error).__name__) from error
        self._open.add(connection)
        return connection, await self._status(connection, head, body, read_s)

    async def _status(self, connection: "_Connection", head: h11.Request, body: bytes, read_s: float) -> int:
        try:
            return await connection.status(head, body, read_s)
        except BaseException:
            self._close(connection)
            raise

    def _close(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        connection.close()


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)

    async def status(self, head: h11.Request, body: bytes, read_s: float) -> int:
        try:
            parts = [self._http.send(each) for each in (head, h11.Data(data=body), h11.EndOfMessage())]
            self._writer.write(b"".join(part for part in parts if part))
        except (OSError, h11.ProtocolError) as error:
            raise Broken(type(error).__name__) from error
        while not isinstance(event := await self._event(read_s), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise Broken("no answer")
        return event.status_code

    async def body(self, read_s: float) -> AsyncIterator[bytes]:
        while isinstance(event := await self._event(read_s), h11.Data):
            yield bytes(event.data)

    def again(self) -> bool:
        """Make ready for another request, if that can be."""
        done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if not done or self._writer.is_closing():
            return False
        self._http.start_next_cycle()
        return True

    def close(self) -> None:
        self._writer.close()

    async def _event(self, read_s: float) -> object:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(read_s):
                    self._http.receive_data(await self._reader.read(CHUNK))
        except TimeoutError as error:
            raise Silent("nothing came in time") from error
        except (OSError, h11.ProtocolError) as error:
            raise Broken(type(error).__name__) from error
        return event
