"""From a cursor to the engine's request and to the stream that answers it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, ParamSpec, Protocol, TypeVar

from dlsp.completions import infill, steering
from dlsp.completions.anchor import Anchor
from dlsp.completions.gate import gate
from dlsp.completions.state import DocumentState
from dlsp.completions.stream import CompletionStream
from dlsp.completions.types import CompletionResult, Cursor, SkipReason
from dlsp.context.parts import Context, plain
from dlsp.context.server_answers import above_last_line, line_start
from dlsp.engine.connection import EngineConnection, EnginePool, Unavailable
from dlsp.engine.remote import ANY_MODEL, Server, environment_url
from dlsp.settings.schema import Settings

MAX_NAMED_CHARACTERS = 100_000  # before the cursor, and behind it, of which names are known

P = ParamSpec("P")
T = TypeVar("T")


class InThread(Protocol):
    """Runs a function on the worker thread, which reads workspaces and parses documents, and awaits its result."""

    def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


_SKIPPED = {
    Unavailable.LOADING: SkipReason.LOADING,
    Unavailable.MODEL_MISSING: SkipReason.MISSING,
    Unavailable.FAILED: SkipReason.FAILED,
    Unavailable.AWAY: SkipReason.FAILED,
}


def connection_for(settings: Settings, engines: EnginePool) -> EngineConnection:
    """The connection to the engine of the configured model, or to the team's server; an engine it starts uses the
    configured threads and update."""
    chosen = settings.chosen_model
    url = settings.server or environment_url()
    server = Server(url, chosen.short if chosen else ANY_MODEL) if url else None
    local_if_away = settings.server_away == "local"
    return engines.connection(settings.model, settings.threads, settings.infill_update, server, local_if_away)


class Generator:
    """Builds engine requests and starts completion streams."""

    def __init__(self, engines: EnginePool, in_thread: InThread) -> None:
        self._engines, self._in_thread = engines, in_thread

    def connection(self, cursor: Cursor) -> EngineConnection:
        """The connection to the engine of the document's configured model."""
        return connection_for(cursor.settings, self._engines)

    def unavailable(self, cursor: Cursor) -> CompletionResult | None:
        """The skip if the engine is not ready, else None. If it is not ready, connecting starts in the background."""
        connection = self.connection(cursor)
        if connection.is_ready:
            return None
        connection.connect_in_background()
        note = connection.reason if connection.unavailable is Unavailable.AWAY else ""
        return CompletionResult(skip=_SKIPPED[connection.unavailable], note=note)

    def start(
        self,
        cursor: Cursor,
        state: DocumentState,
        *,
        priority: str = "typing",
        invoked: bool = False,
        overrides: Mapping[str, Any] | None = None,
    ) -> CompletionStream:
        """The completion stream for the cursor: a running one that matches, else a new one.

        `overrides` replaces fields of the engine's request.
        """

        async def prepare() -> dict[str, Any] | CompletionResult:
            return await self.request(cursor, state, priority, invoked, overrides)

        running = state.stream_for(cursor)
        return running or state.start_stream(cursor, prepare, self.connection(cursor), invoked)

    async def request(
        self,
        cursor: Cursor,
        state: DocumentState,
        priority: str,
        invoked: bool = False,
        overrides: Mapping[str, Any] | None = None,
    ) -> dict[str, Any] | CompletionResult:
        """The engine's request for the cursor, or the skip if the engine must not be asked.

        The anchor is kept while the document extends it; otherwise a new one is set at the cursor, or at the start of
        the cursor's line if other servers told something about it: what they tell stands above the line, behind what is
        prefilled.
        """
        if why := self.unavailable(cursor):
            return why
        told = cursor.workspace.comments(cursor.path, cursor.before, cursor.after, cursor.language)
        start = line_start(cursor.before) if told else len(cursor.before)
        anchor = state.anchor
        middle = anchor.middle(cursor.before, cursor.after) if anchor else None
        if anchor is None or middle is None or start < len(anchor.before):
            context = await self._in_thread(_context, cursor, anchor.context if anchor else None)
            if isinstance(context, str):
                return CompletionResult(skip=SkipReason.IGNORED, note=context)
            if not invoked and (skip := gate.nothing_to_go_on(context)):
                return CompletionResult(skip=skip)
            line = cursor.before[start:]
            if not context.prefix[-1].text.endswith(line):  # it is too long for the context
                line = ""
            anchor = Anchor(cursor.before.removesuffix(line), cursor.after, context.without_end(line))
            middle = plain(line)
            state.set_anchor(anchor)
        middle = above_last_line(anchor.window.prefix, middle, told)
        fields: dict[str, Any] = {
            "session": cursor.uri,
            "end": infill.end_rule(cursor.before),
            "mode": cursor.settings.mode,
        }
        if priority != "typing":
            fields["priority"] = priority
        sampled = bool((overrides or {}).get("temperature"))
        if not sampled and (wanted := steering.constraint(cursor.settings.steer, anchor.context, cursor.name or "")):
            fields["constraint"] = wanted
        return infill.request(anchor.context, middle=middle, path=cursor.name, **(fields | dict(overrides or {})))


def _context(cursor: Cursor, previous: Context | None) -> Context | str:
    """The context of the cursor, or the reason why the document is excluded."""
    workspace = cursor.workspace
    excluded = workspace.excludes(cursor.path)
    if excluded:
        return excluded
    context = workspace.context(cursor.path, cursor.before, cursor.after, previous, cursor.language)
    if steering.by_names(cursor.settings.steer):
        # The model sees a part of the file, and may call what stands in the rest.
        around = cursor.before[-MAX_NAMED_CHARACTERS:] + "\n" + cursor.after[:MAX_NAMED_CHARACTERS]
        own = steering.of_text(around, cursor.name or "")
        others = workspace.defined(cursor.language, steering.MAX_NAMES)
        context = replace(context, defined=(*own, *others))
    return context
