"""Runs the application until the process is asked to end."""

import asyncio
import socket
from collections.abc import Sequence
from types import FrameType

import h11
import uvicorn
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from dlsp.api import peers
from dlsp.api.admission import Disconnects
from dlsp.api.wire import openai_error

IDLE_S = 30  # a used connection is kept this long for the next request
END_S = 2  # requests in progress have this long when the process ends
MAX_CONNECTIONS = 512
FORBIDDEN = "Only programs of the same user are answered without a key."


class Server(uvicorn.Server):
    """Serves until a signal or `end`, and sleeps while there is nothing to do: uvicorn's own server polls. With
    `same_user`, connections of other users' programs are refused."""

    def __init__(self, app: ASGIApp, same_user: bool) -> None:
        super().__init__(
            uvicorn.Config(
                _Lenient(app),
                http=_OwnConnection if same_user else H11Protocol,
                ws="none",
                lifespan="off",
                log_level="warning",
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=END_S,
            )
        )
        self._ending = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def run_on(self, sockets: Sequence[socket.socket]) -> None:
        await self.serve(sockets=list(sockets))

    def end(self) -> None:
        """End soon. May be called from any thread and from signal handlers."""
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._ending.set)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._ending.wait()


class _Lenient:
    """The application, for which an answer that can no longer be sent is no failure: uvicorn refuses a body that is no
    HTTP while the application answers, and closes the connection."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except* h11.LocalProtocolError:
            pass


class _OwnConnection(H11Protocol):
    """A connection on which another user's program gets a refusal to whatever it asks."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if not peers.same_user(transport.get_extra_info("socket")):
            self.app = Disconnects(JSONResponse(openai_error(403, FORBIDDEN), 403))
        super().connection_made(transport)
