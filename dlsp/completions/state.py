"""What is known about the typing in one document. Nobody else writes it."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from dlsp.completions.anchor import Anchor
from dlsp.completions.cache import CachedCompletion, CompletionCache, Remainder
from dlsp.completions.gate.features import Edit, Facts, kind_of_edit, text_kind
from dlsp.completions.stream import CompletionStream, Prepare
from dlsp.completions.types import Cursor, DocumentChange, Position
from dlsp.context.parts import plain
from dlsp.engine.connection import EngineConnection
from dlsp.errors import UserError
from dlsp.settings.schema import Settings

# Edits without a request after which a client counts as one that does not ask for completions.
MAX_EDITS_WITHOUT_REQUEST = 3
# Characters of the word that a menu's item replaces.
MAX_WORD_CHARACTERS = 200


class DocumentState:
    """Cached completions, the stream that is running, the anchor of the engine's session, and the last edit.

    It owns the tasks that work for its document: the client's request, the stream, and one background task. It holds
    for `settings`; other settings want a new one.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._cache = CompletionCache()
        self._stream: CompletionStream | None = None
        self._anchor: Anchor | None = None
        self._request: asyncio.Task[Any] | None = None
        self._background: asyncio.Task[None] | None = None
        self._edits_without_request = MAX_EDITS_WITHOUT_REQUEST + 1
        self._edit = Edit.NONE
        self._cursors: tuple[Position, ...] = ()
        self._shown = ""
        self._dismissed: tuple[int, str] | None = None  # the line, and the text
        self._keys_since_dismissal: int | None = None
        self._edits_elsewhere = 0
        self._prefetched_before: str | None = None

    # What happens to the document.

    def edited(self, change: DocumentChange | None) -> None:
        """The document was changed; None where it is not known what was."""
        self.cancel_request()
        self._edits_without_request += 1
        if self._keys_since_dismissal is not None:
            self._keys_since_dismissal += 1
        self._edit, self._cursors = Edit.NONE, ()
        if change is None:
            return
        self._edit = kind_of_edit(change.start != change.end, change.text)
        removed = change.end.character - change.start.character if change.start.line == change.end.line else 0
        added = _added_to_word(change, removed) if len(change.text) > 1 else ""
        if added and self._shown.startswith(added):
            self._edit = Edit.ACCEPTED
        self._cursors = change.cursors

    def edited_elsewhere(self, count: int) -> None:
        """There were `count` edits in other documents so far: what was asked before the last of them is out of date."""
        if count != self._edits_elsewhere:
            self.cancel_generation()
            self._edits_elsewhere = count
            self._cache, self._anchor, self._prefetched_before = CompletionCache(), None, None

    def requested(self) -> None:
        """The client asks for a completion."""
        self._edits_without_request = 0

    def shown(self, completion: CachedCompletion, remainder: Remainder, text: str, inserted: str) -> None:
        """`text` of a completion is shown, `inserted` being the same with the document's line endings."""
        completion.shown = Remainder(text, remainder.typed, remainder.closers)
        self._shown = inserted

    def dismissed(self, line: int) -> None:
        """The user dismissed what was shown last, on this line."""
        self._dismissed, self._keys_since_dismissal = (line, plain(self._shown)), 0

    # What is known of it.

    @property
    def client_is_requesting(self) -> bool:
        """Whether the client asked within the last MAX_EDITS_WITHOUT_REQUEST edits."""
        return self._edits_without_request <= MAX_EDITS_WITHOUT_REQUEST

    @property
    def just_edited(self) -> bool:
        """Whether the client has not asked since the last edit."""
        return self._edits_without_request > 0

    @property
    def anchor(self) -> Anchor | None:
        return self._anchor

    def lookup(self, cursor: Cursor) -> tuple[CachedCompletion, Remainder] | None:
        """The completion that the cursor continues, which may still be arriving, and what is left of it."""
        return self._cache.find(cursor.before, cursor.after)

    def is_known(self, cursor: Cursor) -> bool:
        """Whether the engine has nothing to add to what is cached for the cursor, or is at it."""
        found = self.lookup(cursor)
        return found is not None and bool(found[1].text.strip() or found[0].reason)

    def is_dismissed(self, line: int, text: str) -> bool:
        """Whether `text`, with `\\n` at the line ends, is part of what was dismissed on this line."""
        return self._dismissed is not None and self._dismissed[0] == line and text in self._dismissed[1]

    def facts(self, cursor: Cursor, agreed: int = 0) -> Facts:
        """What the gate judges by; `agreed` characters were typed as the completion has them."""
        return Facts(
            line_before=cursor.before[max(cursor.before.rfind("\n"), cursor.before.rfind("\r")) + 1 :],
            line_after=cursor.after.partition("\n")[0].rstrip("\r"),
            edit=self._edit,
            moved=cursor.position not in self._cursors,
            inside=text_kind(cursor.before, cursor.language_id, cursor.path.name),
            agreed=agreed,
            dismissed=self._keys_since_dismissal,
        )

    # The engine's session and its stream.

    def set_anchor(self, anchor: Anchor) -> None:
        """The session is prefilled with another prompt."""
        self._anchor = anchor

    def fits_anchor(self, cursor: Cursor) -> bool:
        """Whether the prompt that the session was prefilled with goes for the cursor, too."""
        return self._anchor is not None and self._anchor.middle(cursor.before, cursor.after) is not None

    @property
    def running_stream(self) -> CompletionStream | None:
        """The stream that is running, wherever it is for."""
        return self._stream if self._stream and not self._stream.done else None

    def stream_for(self, cursor: Cursor) -> CompletionStream | None:
        """The running stream, if what it writes goes for the cursor."""
        running = self.running_stream
        return running if running and running.completion.remainder(cursor.before, cursor.after) else None

    def keep_stream(self, cursor: Cursor | None) -> bool:
        """After an edit that left the cursor there: whether a stream is running that agrees with it. One that does not
        is cancelled."""
        running = self.running_stream
        if running is None:
            return False
        here = (cursor.before, cursor.after) if cursor else None
        if here and (running.completion.remainder(*here) or running.completion.is_ahead_of(*here)):
            return True
        self.cancel_generation()
        return False

    def start_stream(
        self, cursor: Cursor, prepare: Prepare, engine: EngineConnection, invoked: bool
    ) -> CompletionStream:
        """Ask the engine for the cursor, in place of what it was asked before."""
        self.cancel_generation()
        completion = CachedCompletion.between(cursor.before, cursor.after)
        self._cache.add(completion)
        self._stream = CompletionStream(completion, prepare, engine, invoked)
        return self._stream

    def drop(self, stream: CompletionStream) -> None:
        """Forget a stream that failed, and what it wrote."""
        self._cache.remove(stream.completion)
        if self._stream is stream:
            self._stream = None

    # The tasks.

    def begin_prefetch(self, before: str) -> bool:
        """Whether to prefetch the completion after `before`: it is done once for each text."""
        begins = self._prefetched_before != before
        self._prefetched_before = before
        return begins

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this in place of the background task so far. Its errors are the next request's to tell."""

        async def guarded() -> None:
            with suppress(UserError):
                await work

        self.cancel_background()
        self._background = asyncio.create_task(guarded())

    def begin_request(self, task: "asyncio.Task[Any]") -> None:
        """The client's newest request, in place of an older one."""
        self.cancel_request()
        self._request = task

    def cancel_request(self) -> None:
        """The client's request is out of date."""
        if self._request:
            self._request.cancel()
        self._request = None

    def cancel_background(self) -> None:
        """Cancel the background task, unless it is the one that calls this."""
        if self._background and self._background is not asyncio.current_task():
            self._background.cancel()
            self._background = None

    def cancel_generation(self) -> None:
        """Cancel the running stream, whose text is dropped, and the background task."""
        self.cancel_background()
        if running := self.running_stream:
            running.cancel()
            self._cache.remove(running.completion)
        self._stream = None

    def close(self) -> None:
        """Cancel everything."""
        self.cancel_request()
        self.cancel_generation()


def _added_to_word(change: DocumentChange, removed: int) -> str:
    """What a change adds to the word of `removed` units that it replaces: a menu inserts that word again."""
    for kept in range(min(len(change.text), MAX_WORD_CHARACTERS) + 1):
        if change.units(change.text[:kept]) >= removed:
            return change.text[kept:]
    return ""
