"""HTTP/1.1 client for the engine. A general-purpose client takes longer than everything else a keystroke needs."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11

from dlsp.engine import identity

CONNECT_TIMEOUT_S = 2.0  # to connect, and then to verify who is at the other end
READ_TIMEOUT_S = 5.0  # until the response's header arrives, and between two pieces of its body
BACKLOG_RETRY_S = 0.01  # between two tries to connect while too many other connections wait to be accepted
MAX_IDLE_CONNECTIONS = 4
CHUNK_BYTES = 2**16
MAX_PROOF_BYTES = 1_000
UNIX = "unix:"
PORTS = {"http": 80, "https": 443}

Headers = list[tuple[str, str]]


class Broken(Exception):
    """There is no connection to the engine, or the response on it is invalid."""


class Silent(Broken):
    """Nothing arrived in time."""


@dataclass(frozen=True)
class Answer:
    """A response; `body` yields pieces as they arrive and can be read once."""

    status: int
    body: AsyncIterator[bytes]

    async def read(self, most_bytes: int) -> bytes:
        """The whole body. Raises Broken if it is longer than `most_bytes`."""
        whole = bytearray()
        async for piece in self.body:
            whole += piece
            if len(whole) > most_bytes:
                raise Broken(f"its answer is longer than {most_bytes} bytes")
        return bytes(whole)


class Connections:
    """Connections to the engine at one address. Each carries one request at a time, and is reused if the response was
    read to its end.

    Neither token nor request is sent before this very connection is known to lead to the engine: once an engine has
    ended, another process may take its address. A team's server is known by its certificate.
    """

    def __init__(self, address: str, token: str, on_server: bool = False) -> None:
        """`address` is `unix:PATH` or `http://127.0.0.1:PORT`; `on_server`: a URL, whose path goes before each
        request's."""
        self._address, self._token, self._on_server = address, token, on_server
        url = urlsplit(address)
        self._base = url.path if on_server else ""
        self._tls: ssl.SSLContext | None = None
        self._headers: Headers = [("Host", url.netloc if on_server else "localhost")]
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()

    @asynccontextmanager
    async def ask(
        self, method: str, path: str, body: bytes = b"", read_s: float = READ_TIMEOUT_S
    ) -> AsyncGenerator[Answer]:
        """Send a request and yield the response. Leaving the context before its end closes the connection. Raises
        Broken."""
        head = h11.Request(
            method=method,
            target=self._base + path,
            headers=[
                *self._headers,
                ("Authorization", f"Bearer {self._token}"),
                ("Content-Type", "application/json"),
                ("Content-Length", str(len(body))),
            ],
        )
        connection, status = await self._asked(head, body, read_s)
        try:
            yield Answer(status, connection.body(read_s))
        finally:
            if connection.again() and len(self._idle) < MAX_IDLE_CONNECTIONS:
                self._idle.append(connection)
            else:
                self._close(connection)

    def close(self) -> None:
        """Close all connections; requests waiting on one raise Broken."""
        for connection in list(self._open):
            self._close(connection)
        self._idle.clear()

    async def _asked(self, head: h11.Request, body: bytes, read_s: float) -> "tuple[_Connection, int]":
        """Send the request on an idle or a new connection; returns the connection and the response's status."""
        while self._idle:
            kept = self._idle.pop()
            try:
                return kept, await self._status(kept, head, body, read_s)
            except Silent:
                raise
            except Broken:
                continue  # the engine closes connections that are idle for some seconds
        connection = await self._connected()
        return connection, await self._status(connection, head, body, read_s)

    async def _status(self, connection: "_Connection", head: h11.Request, body: bytes, read_s: float) -> int:
        try:
            return await connection.status(head, body, read_s)
        except BaseException:
            self._close(connection)
            raise

    async def _connected(self) -> "_Connection":
        """A new connection that is verified to lead to the engine. Raises Broken."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                if self._address.startswith(UNIX):
                    streams = await asyncio.open_unix_connection(
                        sock=await _connected(self._address.removeprefix(UNIX))
                    )
                else:
                    parts = urlsplit(self._address)
                    port = parts.port or PORTS[parts.scheme]
                    secure = await self._context() if parts.scheme == "https" else None
                    streams = await asyncio.open_connection(parts.hostname, port, ssl=secure)
        except ssl.SSLCertVerificationError as error:
            raise Broken(f"its certificate is not valid: {error.verify_message}") from error
        except (OSError, ValueError) as error:
            raise Broken(type(error).__name__) from error
        connection = _Connection(*streams)
        self._open.add(connection)
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                if not await self._is_engine(connection):
                    raise Broken("another process is at its address")
        except TimeoutError as error:
            self._close(connection)
            raise Silent("nothing came in time") from error
        except BaseException:
            self._close(connection)
            raise
        return connection

    async def _context(self) -> ssl.SSLContext:
        """How certificates are checked: by the system's authorities, or those that SSL_CERT_FILE names."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)  # it reads files
        return self._tls

    async def _is_engine(self, connection: "_Connection") -> bool:
        """Whether the peer is the engine, checked without sending it anything secret.

        On a Unix socket, the system tells which user's process listens. A TCP port can be taken by any user, so there
        the engine must prove that it knows the token.
        """
        if self._on_server:
            return True  # the certificate was checked as the connection was made
        if self._address.startswith(UNIX):
            return identity.same_user(connection.peer)
        challenge = identity.challenge()
        head = h11.Request(method="GET", target=f"/v1/proof?challenge={challenge}", headers=self._headers)
        answer = Answer(await connection.status(head, b"", CONNECT_TIMEOUT_S), connection.body(CONNECT_TIMEOUT_S))
        try:
            proof = json.loads(await answer.read(MAX_PROOF_BYTES))["proof"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return False
        return connection.again() and identity.proves(proof, self._token, self._address, challenge)

    def _close(self, connection: "_Connection") -> None:
        self._open.discard(connection)
        connection.close()


async def _connected(path: str) -> socket.socket:
    """A socket connected to the Unix socket at `path`; waits while the listener's backlog is full. Raises OSError.

    asyncio itself takes the refusal of a full backlog (EAGAIN) for a connection that is on its way, and then for one
    that stands.
    """
    connecting = socket.socket(socket.AF_UNIX)
    try:
        connecting.setblocking(False)
        while True:
            try:
                connecting.connect(path)
                return connecting
            except BlockingIOError:
                await asyncio.sleep(BACKLOG_RETRY_S)
    except BaseException:
        connecting.close()
        raise


class _Connection:
    """One HTTP connection, which carries one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)

    @property
    def peer(self) -> object:
        """The connected socket."""
        return self._writer.get_extra_info("socket")

    async def status(self, head: h11.Request, body: bytes, read_s: float) -> int:
        try:
            parts = [self._http.send(each) for each in (head, h11.Data(data=body), h11.EndOfMessage())]
            self._writer.write(b"".join(part for part in parts if part))
        except (OSError, h11.ProtocolError) as error:
            raise Broken(type(error).__name__) from error
        event = await self._event(read_s)
        if not isinstance(event, h11.Response):
            raise Broken("no answer")
        return event.status_code

    async def body(self, read_s: float) -> AsyncIterator[bytes]:
        while isinstance(event := await self._event(read_s), h11.Data):
            yield bytes(event.data)

    def again(self) -> bool:
        """Prepare for another request; returns whether that is possible."""
        done = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if not done or self._writer.is_closing():
            return False
        self._http.start_next_cycle()
        return True

    def close(self) -> None:
        self._writer.close()

    async def _event(self, within_s: float) -> object:
        """The next event: the response's header, or a piece of its body. Raises Broken."""
        try:
            async with asyncio.timeout(within_s):
                while (event := self._http.next_event()) is h11.NEED_DATA:
                    self._http.receive_data(await self._reader.read(CHUNK_BYTES))
        except TimeoutError as error:
            raise Silent("nothing came in time") from error
        except (OSError, h11.ProtocolError) as error:
            raise Broken(type(error).__name__) from error
        return event
