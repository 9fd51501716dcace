"""The server's link to its engine: made in the background; typing never waits for it."""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from dlsp.completions.types import SkipReason
from dlsp.engine import launch
from dlsp.engine.client import Engine, EngineGone, EngineSilent
from dlsp.engine.state import State
from dlsp.errors import UserError
from dlsp.models.catalogue import Model
from dlsp.models.store import ModelMissing
from dlsp.server.status import Status

log = logging.getLogger(__name__)

RETRY_S = 1.0
MOST_RETRY_S = 16.0
"""A start that failed is tried again after RETRY_S, then twice that, up to this."""
DOUBT_S = 1.0


class Loading(Protocol):
    """Where the progress of loading is shown."""

    async def begin(self) -> None: ...
    def report(self, line: str) -> None: ...
    def end(self, line: str) -> None: ...


class Link:
    """`engine` is the engine once it is ready; until then `quiet` says why not.

    The next start of one has `threads` and `infill_update`, as in `launch.ensure`.
    """

    def __init__(
        self,
        model: Model,
        loading: Callable[[], Loading],
        tell: Callable[[str], None],
        status: Status,
    ) -> None:
        self.engine: Engine | None = None
        self.quiet = SkipReason.LOADING
        self.threads = 0
        self.infill_update = True
        self._model = model
        self._loading = loading
        self._tell = tell
        self._status = status
        self._told: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._making: asyncio.Task[None] | None = None
        self._doubted: Engine | None = None
        self._wait_s = RETRY_S
        self._retry_at = -float("inf")

    def make(self) -> None:
        """Begin to make the link, unless it is there, in the making, or failed a moment ago."""
        busy = self._making and not self._making.done()
        if self.engine is None and not busy and time.monotonic() >= self._retry_at:
            self._making = self._do(self._make())

    async def ready(self) -> Engine | None:
        """The engine, as soon as it is made; None if that fails. Who stops waiting does not stop the making."""
        self.make()
        if self.engine is None and self._making:
            await asyncio.wait([self._making])
        return self.engine

    def lost(self, engine: Engine, error: EngineGone) -> None:
        """The engine does not answer: make the link anew, and end it first if it stays silent."""
        if self.engine is engine:
            self.engine, self.quiet = None, SkipReason.LOADING
            self._do(engine.close())
            self._making = self._do(self._make(engine.state if isinstance(error, EngineSilent) else None))

    def doubt(self, engine: Engine) -> None:
        """The engine took too long: see whether it is still there."""

        async def look() -> None:
            try:
                await engine.health(DOUBT_S)
            except EngineGone as error:
                self.lost(engine, error)
            finally:
                self._doubted = None

        if self._doubted is not engine:
            self._doubted = engine
            self._do(look())

    async def close(self) -> None:
        """Let go of the engine, which goes on for other clients."""
        for task in list(self._tasks):
            task.cancel()
        if self.engine:
            await self.engine.close()
        self.engine = None

    def _do(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _make(self, silent: State | None = None) -> None:
        self.quiet = SkipReason.LOADING
        self._status.engine(True, "Normal", "loading the model")
        try:
            await launch.end_silent(self._model, silent)
            self.engine = await launch.connect(self._model) or await self._start()
        except UserError as error:
            self._failed(error, str(error))
        except Exception as error:  # whatever it was, the link is tried again and the user has a reason
            log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
            self._failed(error, "The engine could not be started; the log of the server says why.")
        else:
            self._wait_s, self._retry_at = RETRY_S, -float("inf")
            self._status.engine(False, "Normal")

    def _failed(self, error: Exception, sentence: str) -> None:
        self._retry_at = time.monotonic() + self._wait_s
        self._wait_s = min(2 * self._wait_s, MOST_RETRY_S)
        self.quiet = SkipReason.MISSING if isinstance(error, ModelMissing) else SkipReason.FAILED
        self._status.engine(False, "Error", sentence)
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)

    async def _start(self) -> Engine:
        loading = self._loading()
        await loading.begin()
        outcome = "failed"
        try:
            engine = await launch.start(
                self._model, loading.report, threads=self.threads, infill_update=self.infill_update
            )
            outcome = "ready"
            return engine
        finally:
            loading.end(outcome)
