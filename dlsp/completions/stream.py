"""A completion while the engine writes it: its own task, which several requests may wait for."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from dlsp.completions import infill
from dlsp.completions.cache import CachedCompletion
from dlsp.completions.types import CompletionResult
from dlsp.engine.connection import EngineConnection

Prepare = Callable[[], Awaitable[dict[str, Any] | CompletionResult]]


class CompletionStream:
    """Starts at once to prepare the request and to ask the engine; `completion` holds the text that has arrived.

    `skipped` is set if preparing found a reason not to ask, `error` if the stream ended early. `invoked`: the user
    requested it explicitly.
    """

    def __init__(self, completion: CachedCompletion, prepare: Prepare, engine: EngineConnection, invoked: bool) -> None:
        self.completion = completion
        self.invoked = invoked
        self.skipped: CompletionResult | None = None
        self.error: Exception | None = None
        self._progress = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(prepare, engine))

    @property
    def done(self) -> bool:
        """Whether nothing more will arrive."""
        return self._task.done() or bool(self.completion.reason) or bool(self.skipped or self.error)

    @property
    def failed(self) -> bool:
        """Whether there is no completion: the request was skipped, or the stream ended early."""
        return bool(self.skipped or self.error)

    def cancel(self) -> None:
        self._task.cancel()

    async def wait_until(self, is_enough: Callable[[], bool], seconds: float | None = None) -> None:
        """Wait until `is_enough()` is true, nothing more will arrive, or `seconds` have passed."""
        try:
            async with asyncio.timeout(seconds):
                while not is_enough() and not self.done:
                    await asyncio.shield(self._progress)
        except TimeoutError:
            return

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until nothing more will arrive, or `seconds` have passed."""
        await self.wait_until(lambda: False, seconds)

    async def _run(self, prepare: Prepare, engine: EngineConnection) -> None:
        try:
            request = await prepare()
            if isinstance(request, CompletionResult):
                self.skipped = request
                return
            async with aclosing(engine.infill(request)) as events:
                async for event in events:
                    self._take(event)
        except Exception as error:  # raised by whoever waits for the stream
            self.error = error
        finally:
            self._wake()

    def _take(self, event: dict[str, Any]) -> None:
        completion = self.completion
        completion.confidence = event.get("confidence", ())
        if event["event"] == "fill":
            completion.text = infill.without_cut_line(event["text"], event["reason"])
            completion.reason, completion.cost = event["reason"], event["cost"]
        else:
            completion.text = event["committed"]
        self._wake()

    def _wake(self) -> None:
        progress, self._progress = self._progress, asyncio.get_running_loop().create_future()
        if not progress.done():
            progress.set_result(None)
