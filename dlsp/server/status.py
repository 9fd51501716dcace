"""`didChangeStatus`: what the server is doing, for an editor's status line. Other editors leave it unread."""

import asyncio
from collections.abc import Callable
from typing import Any

METHOD = "didChangeStatus"
BUSY_S = 0.05
"""What is answered sooner is no news."""


class Status:
    """Sends `{busy, kind, message}` whenever it changes; `kind` is `Normal`, `Warning` or `Error`."""

    def __init__(self, send: Callable[[str, Any], object]) -> None:
        self._send = send
        self._asked = 0
        self._later: asyncio.TimerHandle | None = None
        self._engine: tuple[bool, str, str] = (False, "Normal", "")
        self._sent: dict[str, Any] = {}

    def engine(self, busy: bool, kind: str, message: str = "") -> None:
        """What the engine's side is at: loading (busy), ready, or failed with a sentence."""
        self._engine = busy, kind, message
        self._tell()

    def __enter__(self) -> None:
        """A request is being answered."""
        self._asked += 1
        self._later = self._later or asyncio.get_running_loop().call_later(BUSY_S, self._tell)

    def __exit__(self, *_: object) -> None:
        self._asked -= 1
        if self._asked == 0:
            if self._later:
                self._later.cancel()
            self._later = None
            self._tell()

    def _tell(self) -> None:
        busy, kind, message = self._engine
        now = {"busy": busy or self._asked > 0, "kind": kind, "message": message}
        if now != self._sent:
            self._sent = now
            self._send(METHOD, now)
