"""Speculative work in the background, ahead of the client's request: early requests, prefetch and prompt warm-up."""

import asyncio
from collections.abc import Callable

from dlsp.completions.gate import gate
from dlsp.completions.generation import Generator
from dlsp.completions.state import DocumentState
from dlsp.completions.types import CompletionResult, Cursor

# Seconds after a keystroke until the engine is asked: shorter than the client's own debounce.
TYPING_PAUSE_S = 0.02
# Seconds after a keystroke until the prompt is prefilled where no completion is requested yet.
WARM_UP_PAUSE_S = 0.15


class Speculation:
    """Decides which work to do ahead of a request."""

    def __init__(self, generator: Generator, is_snoozed: Callable[[], bool]) -> None:
        self._generator, self._is_snoozed = generator, is_snoozed

    def after_edit(self, cursor: Cursor, state: DocumentState) -> None:
        """After an edit: ask the engine once typing pauses, because the client is about to ask."""

        async def work() -> None:
            await asyncio.sleep(TYPING_PAUSE_S)
            off = gate.switched_off(cursor.eagerness, False, self._is_snoozed())
            if state.is_known(cursor) or off or gate.ask(state.facts(cursor), cursor.eagerness).skip:
                return
            if not self._generator.unavailable(cursor):
                self._generator.start(cursor, state)

        state.in_background(work())

    def prefetch(self, cursor: Cursor, state: DocumentState, shown: CompletionResult) -> None:
        """Request what follows the shown suggestion, so that it is ready when this one is accepted."""
        if not shown.text:
            return
        accepted = cursor.accepted(shown.text, shown.replaced)

        async def work() -> None:
            if running := state.running_stream:
                await running.wait()
            found = state.lookup(accepted)
            ended = found is None or (found[0].reason not in ("", "end") and not found[1].text)
            if ended and state.fits_anchor(accepted) and not self._generator.unavailable(accepted):
                self._generator.start(accepted, state, priority="prefetch")

        if state.begin_prefetch(accepted.before):
            state.in_background(work())

    def warm_up(self, cursor: Cursor, state: DocumentState) -> None:
        """Prefill the prompt at a place where the cursor may rest, if it needs a new anchor."""

        async def work() -> None:
            await asyncio.sleep(WARM_UP_PAUSE_S)
            connection = self._generator.connection(cursor)
            if not connection.is_ready or state.running_stream or state.fits_anchor(cursor):
                return
            request = await self._generator.request(cursor, state, "prefetch")
            if not isinstance(request, CompletionResult):
                async for _ in connection.infill(request | {"max_tokens": 1}):
                    pass

        state.in_background(work())
