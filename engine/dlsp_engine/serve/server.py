"""uvicorn's server and connections, adapted to a process that serves only its user's programs and sleeps while it is
idle.
"""

import asyncio
import logging
import socket
import sys
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dlsp_engine.serve.identity import same_user

log = logging.getLogger(__name__)

SHUTDOWN_S = 3  # at shutdown, until connections with a request in progress are closed
HEAD_TIMEOUT_S = 5  # for a request's head to be complete, from its first byte or from the start of the connection
IDLE_TIMEOUT_S = 30  # after its last request, until an idle connection is closed
MAX_CONNECTIONS = 64
ACCEPTED_AT_ONCE = 128  # connections accepted before the first of them is served
BACKLOG = 1024  # connections that the system queues until they are accepted
FULL_LOG_INTERVAL_S = 60  # between two log lines that say that no connection can be accepted


class Server(uvicorn.Server):
    """Serves until `end` is called, and sleeps while there is nothing to do. uvicorn's own server wakes ten times a
    second to see whether it is to end.
    """

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                ws="none",
                log_level="warning",
                log_config=None,
                access_log=False,
                date_header=False,
                server_header=False,
                backlog=ACCEPTED_AT_ONCE,
                timeout_keep_alive=IDLE_TIMEOUT_S,
                timeout_graceful_shutdown=SHUTDOWN_S,
            )
        )
        self._ending = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._failed)
        self._untaken_at = -float("inf")

    def end(self) -> None:
        """End the server soon. May be called from any thread and from signal handlers."""
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._ending.set)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)  # asyncio uses one number for the backlog and for how many it accepts at once

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._ending.wait()

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an exception that the event loop caught. If connections cannot be accepted, it is raised again and again,
        and logged once in FULL_LOG_INTERVAL_S seconds.
        """
        if not context["message"].startswith("socket.accept()"):
            return loop.default_exception_handler(context)
        if loop.time() - self._untaken_at > FULL_LOG_INTERVAL_S:
            self._untaken_at = loop.time()
            log.error("no connection can be taken: %s", context["exception"])


class Connection(H11Protocol):
    """An HTTP connection. On a Unix socket the other process must run as the same user, or the connection is closed.

    If MAX_CONNECTIONS are open, a new one replaces one that has no request in progress; if all have one, the new one
    is closed.
    """

    refused = False
    _head_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        peer: socket.socket = transport.get_extra_info("socket")
        trusted = peer.family == socket.AF_INET or same_user(peer)
        self.refused = not trusted or not self._has_room()
        if self.refused:
            transport.abort()
            return
        self.began = self.loop.time()
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.refused:
            super().connection_lost(exc)
            self._stop_waiting()

    @property
    def at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _has_room(self) -> bool:
        """Whether one more connection may be open. Closes an idle one for it if needed."""
        if len(self.connections) < MAX_CONNECTIONS:
            return True
        idle = [each for each in self.connections if isinstance(each, Connection) and not each.at_work]
        if not idle:
            return False
        # Connections that never sent a request go first, the oldest before the others.
        longest = min(idle, key=lambda each: (each.cycle is not None, each.began))
        self.connections.discard(longest)
        longest.transport.abort()
        return True

    def _await_head(self) -> None:
        """Called after each piece of data: the next request's head must be complete within HEAD_TIMEOUT_S seconds."""
        if self.at_work:
            self._stop_waiting()
        elif self._head_late is None:
            self._head_late = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._head_late is not None:
            self._head_late.cancel()
            self._head_late = None


def raise_file_limit() -> None:
    """Raise the process's limit on open files and connections as far as the system allows."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):
            log.info("the limit of open files stays %d", soft)  # macOS takes no limit above its own
