"""An answer while the engine writes it: a task of its own, which the questions of an editor wait on."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from dlsp.completions import infill
from dlsp.completions.cache import CachedCompletion
from dlsp.engine.client import Engine, EngineGone
from dlsp.server.link import Link


class Growing:
    """Asks at once. `error` is why there will be no more; the answer has what came until then."""

    def __init__(self, answer: CachedCompletion, request: dict[str, Any], engine: Engine, link: Link) -> None:
        self.answer = answer
        self.error: Exception | None = None
        self._news = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._grow(request, engine, link))

    @property
    def done(self) -> bool:
        return self._task.done() or bool(self.answer.reason) or self.error is not None

    def cancel(self) -> None:
        self._task.cancel()

    async def until(self, enough: Callable[[], bool], seconds: float | None = None) -> None:
        """Return when there is `enough`, when no more will come, or after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                while not enough() and not self.done:
                    await asyncio.shield(self._news)
        except TimeoutError:
            return

    async def _grow(self, request: dict[str, Any], engine: Engine, link: Link) -> None:
        answer = self.answer
        try:
            async with aclosing(engine.infill(request)) as events:
                async for event in events:
                    answer.confidence = event.get("confidence", ())
                    if event["event"] == "fill":
                        answer.text = infill.whole(event["text"], event["reason"])
                        answer.reason, answer.cost = event["reason"], event["cost"]
                    else:
                        answer.text = event["committed"]
                    self._tell()
        except EngineGone as error:
            link.lost(engine, error)
            self.error = error
        except Exception as error:  # told to whoever waits
            self.error = error
        finally:
            self._tell()

    def _tell(self) -> None:
        news, self._news = self._news, asyncio.get_running_loop().create_future()
        if not news.done():
            news.set_result(None)
