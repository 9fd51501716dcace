"""The completion service: takes a cursor, returns a suggestion or the skip reason."""

import asyncio
import logging
import secrets
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import unquote

from dlsp.completions import selection, trimming
from dlsp.completions.alternatives import alternatives
from dlsp.completions.gate import calibration, gate
from dlsp.completions.gate.learning import Learning
from dlsp.completions.generation import Generator, InThread
from dlsp.completions.selection import Candidate
from dlsp.completions.speculation import Speculation
from dlsp.completions.state import DocumentState
from dlsp.completions.stream import CompletionStream
from dlsp.completions.types import (
    Completed,
    CompletionResult,
    Cursor,
    DocumentChange,
    Position,
    SkipReason,
    Snapshot,
)
from dlsp.context.parts import plain
from dlsp.engine.connection import EnginePool
from dlsp.errors import UserError

log = logging.getLogger(__name__)

# Seconds until the client gets an empty answer; what was prefilled is kept for its next request.
TIMEOUT_S = 4.0
# Seconds to wait for a whole completion; after that its first whole lines are enough, and the rest follows once these
# are accepted.
WHOLE_COMPLETION_S = 0.12
# Characters before the cursor that are logged with the setting `log: text`.
LOGGED_CHARACTERS = 200


class Observer(Protocol):
    """Sees each request and its result."""

    def requested(self, cursor: Cursor) -> None:
        """A request begins; the document is as in `cursor`."""

    def completed(self, completed: Completed) -> None:
        """A request was answered."""

    def cancelled(self) -> None:
        """The client cancelled its request."""


class CompletionService:
    """Completes code at cursors. Each document has one request at a time; a newer one supersedes the older.

    `in_thread` runs work that reads files or parses. `observers` see each request. With `speculates` false, the engine
    is asked only for client requests, without prefetch or warm-up.
    """

    def __init__(
        self,
        engines: EnginePool,
        learning: Learning,
        observers: Sequence[Observer],
        in_thread: InThread,
        speculates: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._learning, self._observers = learning, observers
        self._in_thread, self._clock = in_thread, clock
        self._generator = Generator(engines, in_thread)
        self._speculation = Speculation(self._generator, lambda: self.is_snoozed) if speculates else None
        self._states: dict[str, DocumentState] = {}
        self._snoozed_until = -float("inf")

    # Requests.

    async def complete(
        self,
        cursor: Cursor,
        *,
        invoked: bool,
        timeout_s: float = TIMEOUT_S,
        keep_generating: bool = False,
        overrides: Mapping[str, Any] | None = None,
    ) -> CompletionResult:
        """Return the completion for the cursor, or a skip. Raises only CancelledError, if the caller is cancelled.

        `invoked`: the user requested it explicitly. After `timeout_s` the engine stops, unless `keep_generating` says
        to go on for the next request. `overrides` replaces fields of the engine's request.
        """
        began, cursor = self._clock(), cursor.apart_from_closers()
        state = self._state(cursor)
        work = asyncio.create_task(self._answer(cursor, state, invoked, timeout_s, keep_generating, overrides))
        state.begin_request(work)
        try:
            result = await work
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if caller and caller.cancelling():
                if not state.just_edited:  # right after an edit the engine goes on, as typing does
                    state.cancel_generation()
                for observer in self._observers:
                    observer.cancelled()
                raise
            result = CompletionResult(skip=SkipReason.STALE)
        except TimeoutError:
            result = CompletionResult(skip=SkipReason.SLOW)
        except UserError as error:
            result = CompletionResult(skip=SkipReason.FAILED, note=str(error))
        except Exception as error:
            # Neither the message nor the source line of the error is logged: they might contain document text.
            where = traceback.extract_tb(error.__traceback__)[-1]
            note = f"{type(error).__name__} in {where.name}, line {where.lineno}"
            result = CompletionResult(skip=SkipReason.FAILED, note=note)
        place = (cursor.uri, cursor.version, cursor.language_id, cursor.position)
        return self._completed(*place, invoked, result, began)

    async def alternatives(self, cursor: Cursor) -> list[CompletionResult]:
        """Other texts for the cursor than the one that is suggested, the likeliest first. Raises UserError."""
        cursor = cursor.apart_from_closers()
        state = self._state(cursor)
        shown = state.lookup(cursor)
        found = await alternatives(self._generator, self._in_thread, cursor, state)
        suggested = plain(shown[1].text).rstrip() if shown else ""
        return [each for each in found if plain(each.text) != suggested]

    def skip(self, uri: str, position: Position, reason: SkipReason, *, invoked: bool) -> CompletionResult:
        """Answer a request without a valid cursor with a skip; observers see it like any other."""
        return self._completed(uri, None, None, position, invoked, CompletionResult(skip=reason), self._clock())

    # Events in the editor.

    def changed(self, snapshot: Snapshot, cursor: Cursor | None, change: DocumentChange | None) -> None:
        """The document was edited and is now as in `snapshot`.

        `cursor` is where the edit left the cursor and `change` what was changed; each is None if unknown. A running
        stream that disagrees with the edit is cancelled; speculative work may start.
        """
        cursor = cursor.apart_from_closers() if cursor else None
        state = self._state(snapshot)
        state.edited(change)
        kept = state.keep_stream(cursor)
        if snapshot.eagerness == "off" or kept:
            return
        state.cancel_background()
        if cursor and state.client_is_requesting and self._speculation:
            self._speculation.after_edit(cursor, state)

    def rested(self, cursor: Cursor) -> None:
        """The cursor rests at this position."""
        cursor = cursor.apart_from_closers()
        state = self._state(cursor)
        off = cursor.eagerness == "off" or self.is_snoozed
        if state.client_is_requesting and not off and self._speculation:
            self._speculation.warm_up(cursor, state)

    def dismissed(self, uri: str, line: int) -> None:
        """The user dismissed the suggestion that was shown on this line of a document."""
        if state := self._states.get(unquote(uri)):
            state.dismissed(line)

    def reset(self, uri: str) -> None:
        """Drop all state of a document: it was opened, closed, or moved to another workspace."""
        if state := self._states.pop(unquote(uri), None):
            state.close()

    @property
    def is_snoozed(self) -> bool:
        return self._clock() < self._snoozed_until

    def snooze(self, minutes: float) -> None:
        """Show no suggestions and leave the engine idle for `minutes`; 0 ends the snooze."""
        self._snoozed_until = self._clock() + 60 * minutes
        for state in self._states.values():
            state.cancel_generation()

    def close(self) -> None:
        """Cancel all requests, streams and background tasks."""
        for state in self._states.values():
            state.close()
        self._states.clear()

    # One request, from top to bottom.

    async def _answer(
        self,
        cursor: Cursor,
        state: DocumentState,
        invoked: bool,
        timeout_s: float,
        keep_generating: bool,
        overrides: Mapping[str, Any] | None,
    ) -> CompletionResult:
        until = asyncio.get_running_loop().time() + timeout_s
        state.requested()
        for observer in self._observers:
            observer.requested(cursor)
        if skip := gate.switched_off(cursor.eagerness, invoked, self.is_snoozed):
            return CompletionResult(skip=skip)
        if cached := await self._from_cache(cursor, state, invoked, generated=False):
            return self._answered(cursor, state, cached)
        if not invoked and not state.stream_for(cursor):
            verdict = gate.ask(state.facts(cursor), cursor.eagerness)
            if verdict.skip:
                if self._speculation:
                    self._speculation.warm_up(cursor, state)
                return CompletionResult(skip=verdict.skip, verdict=verdict)
        if not_ready := await self._connected(cursor, until):
            return not_ready
        try:
            async with asyncio.timeout_at(until):
                made = await self._generate(cursor, state, invoked, overrides)
        except TimeoutError:
            made = await self._draft(cursor, state, invoked, keep_generating)
            if not made:
                if not keep_generating:
                    state.cancel_generation()
                    self._generator.connection(cursor).check_health()
                raise
        return self._answered(cursor, state, made)

    async def _connected(self, cursor: Cursor, until: float) -> CompletionResult | None:
        """Wait until the engine is connected, at most until the loop time `until`; returns None, or the skip if it is
        not ready.

        While it loads, the request stays open, so that a user who pauses still gets the answer.
        """
        try:
            async with asyncio.timeout_at(until):
                await self._generator.connection(cursor).ready()
        except TimeoutError:
            return CompletionResult(skip=SkipReason.LOADING)
        return self._generator.unavailable(cursor)

    async def _generate(
        self, cursor: Cursor, state: DocumentState, invoked: bool, overrides: Mapping[str, Any] | None
    ) -> CompletionResult:
        """Ask the engine and return the result. Raises the error if the engine failed."""
        stream = self._generator.start(cursor, state, invoked=invoked, overrides=overrides)
        await _enough(stream, cursor, whole=invoked)
        if stream.skipped and invoked and not stream.invoked:  # skipped as automatic, but wanted when invoked
            state.drop(stream)
            stream = self._generator.start(cursor, state, invoked=True, overrides=overrides)
            await _enough(stream, cursor, whole=True)
        made = self._failure(stream, state) or await self._from_cache(cursor, state, invoked, generated=True)
        if made is None and not stream.done:  # the lines that arrived give nothing to show; the whole completion may
            await stream.wait()
            made = self._failure(stream, state) or await self._from_cache(cursor, state, invoked, generated=True)
        if cursor.settings.log == "text":
            log.info("after %r, answered %r", cursor.before[-LOGGED_CHARACTERS:], stream.completion.text)
        return made or CompletionResult(skip=SkipReason.EMPTY)

    async def _draft(
        self, cursor: Cursor, state: DocumentState, invoked: bool, keep_generating: bool
    ) -> CompletionResult | None:
        """What has arrived at the deadline, as far as it can be shown; None if nothing of it can."""
        found = state.lookup(cursor)
        if found is None or not found[1].text.strip():
            return None
        completion, remainder = found
        text = await self._in_thread(trimming.draft, cursor, state.facts(cursor), remainder.text)
        is_part = "\n" not in remainder.text.strip()
        candidate = Candidate(completion, remainder, text, None, bool(completion.reason), invoked, True, is_part)
        offered = self._offered(cursor, state, candidate) if text else None
        if offered is None or not offered[0].text:
            return None
        result, shown = offered
        if keep_generating:
            return result
        state.cut_generation(remainder, shown)
        return replace(result, reason=completion.reason)

    def _failure(self, stream: CompletionStream, state: DocumentState) -> CompletionResult | None:
        """The stream's skip, or None if it did not fail. Raises its error if it ended early."""
        if not stream.failed:
            return None
        state.drop(stream)
        if stream.error:
            raise stream.error
        return stream.skipped

    async def _from_cache(
        self, cursor: Cursor, state: DocumentState, invoked: bool, generated: bool
    ) -> CompletionResult | None:
        """The result for the cursor from the completions of this document, of which one may still be arriving; None if
        the engine must be asked or awaited."""
        found = state.lookup(cursor)
        if found is None:
            return None
        completion, remainder = found
        complete, skip = bool(completion.reason), None
        text = "" if invoked else selection.still_shown(cursor, completion, remainder)
        if not text and (lines := selection.whole_lines(completion, remainder)).strip():
            text, skip = await self._in_thread(trimming.trimmed, cursor, state.facts(cursor), lines, completion.reason)
        candidate = Candidate(completion, remainder, text, skip, complete, invoked, generated)
        offered = self._offered(cursor, state, candidate)
        return offered[0] if offered else None

    def _offered(
        self, cursor: Cursor, state: DocumentState, candidate: Candidate
    ) -> tuple[CompletionResult, str] | None:
        """The result for the cursor and its text with `\\n` line endings, which is noted as shown; None if the engine
        must be asked or awaited."""
        selected = selection.select(
            cursor,
            candidate,
            state.facts(cursor, candidate.completion, candidate.remainder.typed),
            lambda text: state.is_dismissed(cursor.position.line, text),
            self._learning.shift(cursor.language_id)
            + calibration.shift(cursor.settings.model.name, cursor.settings.infill_update),
        )
        if selected and (text := selected[0].text):
            state.shown(candidate.completion, candidate.remainder, selected[1], text, candidate.invoked)
        return selected

    def _answered(self, cursor: Cursor, state: DocumentState, result: CompletionResult) -> CompletionResult:
        if self._speculation:
            self._speculation.prefetch(cursor, state, result)
        return result

    def _completed(
        self,
        uri: str,
        version: int | None,
        language_id: str | None,
        position: Position,
        invoked: bool,
        result: CompletionResult,
        began: float,
    ) -> CompletionResult:
        milliseconds = (self._clock() - began) * 1e3
        id = secrets.token_hex(4) if result.text else ""
        result = replace(result, id=id)
        completed = Completed(id, uri, version, language_id, position, invoked, result, milliseconds)
        for observer in self._observers:
            observer.completed(completed)
        return result

    def _state(self, snapshot: Snapshot) -> DocumentState:
        """The state of the document, replaced by an empty one if its settings have changed."""
        key = unquote(snapshot.uri)
        state = self._states.get(key)
        if state is None or state.settings != snapshot.settings:
            if state:
                state.close()
            state = self._states[key] = DocumentState(snapshot.settings)
        if snapshot.eagerness != "off":
            state.edited_elsewhere(snapshot.edits_elsewhere)
        return state


async def _enough(stream: CompletionStream, cursor: Cursor, whole: bool) -> None:
    """Wait for the whole completion; unless `whole`, after WHOLE_COMPLETION_S only for its first whole line."""

    def has_lines() -> bool:
        remainder = stream.completion.remainder(cursor.before, cursor.after)
        return remainder is not None and "\n" in remainder.text.lstrip()

    await stream.wait(None if whole else WHOLE_COMPLETION_S)
    await stream.wait_until(has_lines)
