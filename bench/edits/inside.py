"""The engine of a bench on edits: the process that ships, or one in this process with other updates."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.command import loaded
from dlsp.edits.rewrite.written import WritingEngine
from dlsp.engine import launch
from dlsp.models.catalogue import Model

if TYPE_CHECKING:
    from dlsp_engine import Engine


class Inside:
    """Answers as the engine's HTTP interface does, from an engine in this process."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine

    async def edit_format(self) -> str:
        return self._engine.edit_format.name if self._engine.writes_edits else ""

    async def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        from dlsp_engine.serve.sites import parse_sites

        async for event in self._answered(parse_sites(request), self._engine.site_request):
            yield event

    async def rewrite(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        from dlsp_engine.serve.rewrites import parse_rewrites

        async for event in self._answered(parse_rewrites(request), self._engine.rewrite_request):
            yield event

    async def _answered(self, parsed: Any, begin: Callable[..., Any]) -> AsyncGenerator[dict[str, Any]]:
        """Run all that is asked for in shared steps."""
        from dlsp_engine.serve.stream import ended

        running = [begin(each, parsed.options) for each in parsed.asked]
        while left := [one for one in running if not one.done]:
            self._engine.step(left)
        for number, one in enumerate(running):
            yield ended(number, 0, one.outcome())


@asynccontextmanager
async def engine_of(model: Model, adapters: Path | None) -> AsyncIterator[WritingEngine]:
    """The engine of a model; `adapters` is a folder of updates and canvas adapters in place of those that ship."""
    if adapters:
        yield Inside(loaded(model, "int8", adapters=adapters))
        return
    async with await launch.ensure(model) as engine:
        yield engine
