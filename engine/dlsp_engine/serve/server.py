"""uvicorn's server and connections, for a process that only its user's programs may ask and that sleeps when idle."""

import asyncio
import socket
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dlsp_engine.serve.identity import same_user

END_S = 3  # until connections that are at work are closed
IDLE_S = 30  # until a connection that asks for nothing is closed


class Server(uvicorn.Server):
    """Serves until it is told to end. uvicorn's own looks ten times a second whether it is."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                log_level="warning",
                log_config=None,
                date_header=False,
                server_header=False,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=END_S,
            )
        )
        self._ending = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        """From any thread, or a signal's handler."""
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._ending.set)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._ending.wait()


class Connection(H11Protocol):
    """A connection. On a Unix socket the peer must be a process of our own user's."""

    refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer: socket.socket = transport.get_extra_info("socket")
        self.refused = peer.family != socket.AF_INET and not same_user(peer)
        if self.refused:
            transport.abort()
        else:
            super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.refused:
            super().connection_lost(exc)
