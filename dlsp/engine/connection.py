"""The connection to the engine of one model: made in the background, and again when the engine is lost."""

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from enum import Enum
from typing import Any, Protocol

from dlsp.engine import launch, remote
from dlsp.engine.client import Engine, EngineGone, EngineSilent
from dlsp.engine.remote import Server, ServerAway
from dlsp.engine.state import State
from dlsp.errors import UserError
from dlsp.models.catalogue import Model
from dlsp.models.store import ModelMissing

log = logging.getLogger(__name__)

# A failed start is retried after MIN_RETRY_S, then after twice the last delay each time, up to MAX_RETRY_S.
MIN_RETRY_S, MAX_RETRY_S = 1.0, 16.0
# A lost engine is replaced at once. Engines that are lost before they have filled a gap are replaced at most this often
# within the window: otherwise a request that crashes them would make them load their weights again at every keystroke.
MAX_LOSSES, LOSS_WINDOW_S = 4, 180.0
HEALTH_TIMEOUT_S = 1.0
# While the local engine answers for a server that is away, the server is asked again after this time.
SERVER_RETRY_S = 30.0
# A local engine that a server has relieved may go on with its requests for this time.
RELIEVED_S = 60.0


class Unavailable(Enum):
    """Why a connection has no engine."""

    LOADING = "it is loading"
    MODEL_MISSING = "the model is not on this machine"
    FAILED = "it could not be started"
    AWAY = "the team's server cannot be asked"


class NotReady(UserError):
    """A request was made while there is no engine."""


class LoadingProgress(Protocol):
    """Shows the progress of one engine start."""

    async def begin(self) -> None: ...
    def report(self, line: str) -> None: ...
    def end(self, outcome: str) -> None: ...


class EngineListener(Protocol):
    """Receives the events of a connection."""

    def engine_loading(self) -> None: ...
    def engine_ready(self, destination: str) -> None:
        """`destination`: where text goes from now on, see `State.destination`."""

    def engine_failed(self, sentence: str, is_new: bool) -> None:
        """`is_new`: this sentence was not reported since the engine was last ready."""

    def loading_progress(self) -> LoadingProgress: ...


class SilentListener:
    """A listener that shows nothing, for a client whose engine is already running."""

    def engine_loading(self) -> None: ...
    def engine_ready(self, destination: str) -> None: ...
    def engine_failed(self, sentence: str, is_new: bool) -> None: ...

    def loading_progress(self) -> LoadingProgress:
        return SilentProgress()


class SilentProgress:
    """Progress that is not shown."""

    async def begin(self) -> None: ...
    def report(self, line: str) -> None: ...
    def end(self, outcome: str) -> None: ...


class RequestCounters(Protocol):
    """Counts that are sent to the engine's metrics with the next request."""

    def take(self) -> dict[str, int]: ...
    def restore(self, counts: dict[str, int]) -> None:
        """Take back counts whose request failed."""


class EngineConnection:
    """Sends requests by `infill`, `generate` and `sites`; notices when the engine is gone, and starts another one.

    While `is_ready` is False, `unavailable` says why, and `reason` in a sentence, if there is one. The next engine
    started gets `threads` threads (0: chosen for the machine), and its weights the infill update unless `infill_update`
    is False.

    With a `server`, that is asked. While it is away, an engine of this machine answers if `local_if_away` is set.
    """

    def __init__(
        self,
        model: Model,
        listener: EngineListener,
        counters: RequestCounters | None = None,
        clock: Callable[[], float] = time.monotonic,
        server: Server | None = None,
    ) -> None:
        self.unavailable = Unavailable.LOADING
        self.reason = ""
        self.local_if_away = True
        self.threads = 0
        self.infill_update = True
        self._model, self._listener, self._counters, self._clock = model, listener, counters, clock
        self._server = server
        self._server_retry_at = -float("inf")
        self._engine: Engine | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._connecting: asyncio.Task[None] | None = None
        self._checked: Engine | None = None
        self._reported: set[str] = set()
        self._losses: list[float] = []
        self._has_filled = False  # whether this engine has answered a request of ours with a fill
        self._wait_s = MIN_RETRY_S
        self._retry_at = -float("inf")
        self._closed = False

    @property
    def is_ready(self) -> bool:
        """Whether there is an engine to send requests to."""
        return self._engine is not None

    def connect_in_background(self) -> None:
        """Find or start the engine, unless it is connected, starting, or waiting to retry a failed start."""
        busy = self._connecting and not self._connecting.done()
        if self._engine is None and not busy and not self._closed and self._clock() >= self._retry_at:
            self._connecting = self._spawn(self._connect())

    async def ready(self) -> bool:
        """Wait for the engine; returns False if it cannot be had. Cancelling the wait does not cancel the start."""
        self.connect_in_background()
        if self._engine is None and self._connecting:
            await asyncio.wait([self._connecting])
        return self._engine is not None

    async def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The events of an infill request as they arrive. Raises NotReady, EngineError and EngineGone."""
        engine = self._ready_engine()
        counts = self._counters.take() if self._counters else {}
        counted = request | {"quiet": counts} if counts else request
        try:
            async with aclosing(engine.infill(counted)) as events:
                async for event in events:
                    self._has_filled = self._has_filled or event.get("event") == "fill"
                    yield event
        except EngineGone as error:
            if self._counters:
                self._counters.restore(counts)
            self._lost(engine, error)
            raise

    def generate(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a request to go on from a prompt. Raises NotReady, EngineError and EngineGone."""
        return self._events(lambda engine: engine.generate(request))

    def tokens(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the answer to a request for a prompt's tokens. Raises NotReady, EngineError and EngineGone."""
        return self._events(lambda engine: engine.tokens(request))

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a request to judge sites. Raises NotReady, EngineError and EngineGone."""
        return self._events(lambda engine: engine.sites(request))

    async def edit_format(self) -> str:
        """The format in which its model was trained to write windows, if it was. Raises NotReady and EngineGone."""
        return await self._ready_engine().edit_format()

    def rewrite(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events of a request to write windows anew, likewise."""
        return self._events(lambda engine: engine.rewrite(request))

    async def _events(self, ask: Callable[[Engine], AsyncGenerator[dict[str, Any]]]) -> AsyncGenerator[dict[str, Any]]:
        engine = self._ready_engine()
        try:
            async with aclosing(ask(engine)) as events:
                async for event in events:
                    yield event
        except EngineGone as error:
            self._lost(engine, error)
            raise

    def check_health(self) -> None:
        """Check in the background whether an engine that took too long is still alive."""
        engine = self._engine

        async def check(engine: Engine) -> None:
            try:
                await engine.health(HEALTH_TIMEOUT_S)
            except EngineGone as error:
                self._lost(engine, error)
            finally:
                self._checked = None

        if engine and self._checked is not engine:
            self._checked = engine
            self._spawn(check(engine))

    async def close(self) -> None:
        """Disconnect from the engine, which keeps running for other clients; no engine is started any more."""
        self._closed = True
        for task in list(self._tasks):
            task.cancel()
        engine, self._engine = self._engine, None
        if engine:
            await engine.close()

    def _ready_engine(self) -> Engine:
        if self._engine is None:
            raise NotReady(self.reason or f"The engine cannot be asked: {self.unavailable.value}.")
        if self._server and not self._engine.state.on_server and self._clock() >= self._server_retry_at:
            self._server_retry_at = self._clock() + SERVER_RETRY_S
            self._spawn(self._return_to(self._server))
        return self._engine

    def _lost(self, engine: Engine, error: EngineGone) -> None:
        """Replace an engine that does not answer; one that is silent is killed first."""
        if self._engine is not engine:
            return  # another request has already noticed
        now = self._clock()
        self._engine = None
        if self._has_filled:  # it worked: what ended it is not what it is asked each time
            self._losses, self._has_filled = [], False
        self._spawn(engine.close())
        self._losses = [*(at for at in self._losses if now - at < LOSS_WINDOW_S), now]
        silent = engine.state if isinstance(error, EngineSilent) and not engine.state.on_server else None
        if len(self._losses) <= MAX_LOSSES:
            self._connecting = self._spawn(self._connect(silent))
            return
        if silent:
            self._spawn(self._end(silent))
        self._retry_at = self._losses[-MAX_LOSSES] + LOSS_WINDOW_S
        wait = self._retry_at - now
        self._fail(
            Unavailable.FAILED,
            f"The engine ended {len(self._losses)} times within {LOSS_WINDOW_S:.0f} s; it is started again in "
            f"{wait:.0f} s. Its log says why: `dlsp engine status` names it.",
        )

    async def _end(self, silent: State) -> None:
        await launch.end_silent(self._model, silent)

    async def _connect(self, silent: State | None = None) -> None:
        self.unavailable = Unavailable.LOADING
        self._listener.engine_loading()
        try:
            await launch.end_silent(self._model, silent)
            self._engine = await self._found()
        except ServerAway as error:
            self._start_failed(Unavailable.AWAY, str(error))
        except UserError as error:
            missing = isinstance(error, ModelMissing)
            self._start_failed(Unavailable.MODEL_MISSING if missing else Unavailable.FAILED, str(error))
        except Exception as error:  # whatever the error, a start is retried and the user gets a reason
            log.error("%s\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
            sentence = "The engine could not be started; the log of the server says why."
            self._start_failed(Unavailable.FAILED, sentence)
        else:
            self._wait_s, self._retry_at = MIN_RETRY_S, -float("inf")
            self._reported.clear()
            self.reason = ""
            self._listener.engine_ready(self._engine.state.destination)

    async def _found(self) -> Engine:
        """The server's engine, or that of this machine. Raises UserError."""
        if self._server is None:
            return await launch.connect(self._model) or await self._start()
        try:
            return await self._at(self._server)
        except ServerAway as away:
            if not self.local_if_away:
                raise
            self._server_retry_at = self._clock() + SERVER_RETRY_S
            log.warning("The engine of this machine answers: %s", away)
            try:
                return await launch.connect(self._model) or await self._start()
            except UserError as error:  # there is none
                raise away from error

    async def _at(self, server: Server) -> Engine:
        try:
            token = await asyncio.to_thread(remote.token, server.url)
        except UserError as error:
            raise ServerAway(str(error)) from error
        return await remote.connect(server, token)

    async def _return_to(self, server: Server) -> None:
        """Ask the server from now on, if it is there again."""
        try:
            engine = await self._at(server)
        except ServerAway:
            return
        relieved, self._engine = self._engine, engine
        self._listener.engine_ready(engine.state.destination)
        if relieved:
            await asyncio.sleep(RELIEVED_S)
            await relieved.close()

    def _start_failed(self, why: Unavailable, sentence: str) -> None:
        self._retry_at = self._clock() + self._wait_s
        self._wait_s = min(2 * self._wait_s, MAX_RETRY_S)
        self._fail(why, sentence)

    def _fail(self, why: Unavailable, sentence: str) -> None:
        self.unavailable, self.reason = why, sentence
        is_new = sentence not in self._reported
        self._reported.add(sentence)
        self._listener.engine_failed(sentence, is_new)

    async def _start(self) -> Engine:
        progress = self._listener.loading_progress()
        await progress.begin()
        outcome = "failed"
        try:
            engine = await launch.start(
                self._model, progress.report, threads=self.threads, infill_update=self.infill_update
            )
            outcome = "ready"
            return engine
        finally:
            progress.end(outcome)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


class EnginePool:
    """Creates the connection to a model's engine at its first use, and closes all of them."""

    def __init__(self, listener: EngineListener, counters: RequestCounters | None = None) -> None:
        self._listener, self._counters = listener, counters
        self._connections: dict[tuple[Model, Server | None], EngineConnection] = {}

    def connection(
        self,
        model: Model,
        threads: int = 0,
        infill_update: bool = True,
        server: Server | None = None,
        local_if_away: bool = True,
    ) -> EngineConnection:
        """The connection for `model`, or to the team's `server`; an engine that it starts later uses the latest
        `threads` and `infill_update`."""
        key = model, server
        if key not in self._connections:
            self._connections[key] = EngineConnection(model, self._listener, self._counters, server=server)
        connection = self._connections[key]
        connection.threads, connection.infill_update = threads, infill_update
        connection.local_if_away = local_if_away
        return connection

    async def close(self) -> None:
        """Disconnect from all engines, which keep running for other clients."""
        for connection in self._connections.values():
            await connection.close()
