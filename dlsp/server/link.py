"""The server's link to its engine: made in the background, never waited for."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

from dlsp.engine import launch
from dlsp.engine.client import Engine
from dlsp.errors import UserError
from dlsp.models.catalogue import Model
from dlsp.models.store import ModelMissing
from dlsp.quiet import Quiet

RETRY_S = 30


class Loading(Protocol):
    """Where the progress of loading is shown."""

    async def begin(self) -> None: ...
    def report(self, line: str) -> None: ...
    def end(self, line: str) -> None: ...


class Link:
    """`engine` is the engine once it is ready; until then `quiet` says why not."""

    def __init__(self, model: Model, loading: Callable[[], Loading], tell: Callable[[str], None]) -> None:
        self.engine: Engine | None = None
        self.quiet = Quiet.LOADING
        self._model = model
        self._loading = loading
        self._tell = tell
        self._told: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._failed_at = -float("inf")

    def make(self) -> None:
        """Begin to make the link, unless it is there, in the making, or failed a moment ago."""
        busy = self._task and not self._task.done()
        if self.engine is None and not busy and time.monotonic() - self._failed_at > RETRY_S:
            self._task = asyncio.create_task(self._make())

    def lost(self, engine: Engine) -> None:
        """The engine does not answer: the next `make` makes the link anew."""
        if self.engine is engine:
            self.engine, self.quiet = None, Quiet.LOADING

    async def close(self) -> None:
        """Let go of the engine, which goes on for other clients."""
        if self._task:
            self._task.cancel()
        if self.engine:
            await self.engine.close()

    async def _make(self) -> None:
        self.quiet = Quiet.LOADING
        try:
            self.engine = await launch.connect(self._model) or await self._start()
        except UserError as error:
            self._failed_at = time.monotonic()
            self.quiet = Quiet.MISSING if isinstance(error, ModelMissing) else Quiet.FAILED
            if str(error) not in self._told:
                self._told.add(str(error))
                self._tell(str(error))

    async def _start(self) -> Engine:
        loading = self._loading()
        await loading.begin()
        outcome = "failed"
        try:
            engine = await launch.ensure(self._model, loading.report)
            outcome = "ready"
            return engine
        finally:
            loading.end(outcome)
