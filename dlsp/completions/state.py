"""All state of one open document: completions, engine session, last edit and tasks. It is changed only by its own
methods."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from dlsp.completions.anchor import Anchor
from dlsp.completions.cache import CUT, CachedCompletion, CompletionCache, Remainder
from dlsp.completions.gate.features import Edit, Facts, kind_of_edit, text_kind
from dlsp.completions.stream import CompletionStream, Prepare
from dlsp.completions.types import Cursor, DocumentChange, Position
from dlsp.context.parts import plain
from dlsp.engine.connection import EngineConnection
from dlsp.errors import UserError
from dlsp.settings.schema import Settings

# Edits without a request after which the client counts as not requesting completions.
MAX_EDITS_WITHOUT_REQUEST = 3
# Characters of the word that a completion menu's item replaces.
MAX_WORD_CHARACTERS = 200


class DocumentState:
    """Cached completions, the running stream, the anchor of the engine's session, and the last edit of one document.

    It owns the document's tasks: the client's request, the stream, and one background task. It is valid for one
    `settings` value; when the settings change, a new state is made.
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
        self._offered: CachedCompletion | None = None  # what is shown
        self._keys_over = 0  # typed on this line since it was first shown or accepted in part
        self._dismissed: tuple[int, str] | None = None  # line, text
        self._keys_since_dismissal: int | None = None
        self._edits_elsewhere = 0
        self._prefetched_before: str | None = None

    # Events of the document.

    def edited(self, change: DocumentChange | None) -> None:
        """The document was edited; `change` is None if it is unknown what changed."""
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
        if added and (self._shown.startswith(added) or self._shown == change.text):
            self._edit = Edit.ACCEPTED
        if self._edit in (Edit.ACCEPTED, Edit.NEWLINE):
            self._keys_over = 0
        elif self._edit is Edit.TYPED:
            self._keys_over += 1
        self._cursors = change.cursors

    def edited_elsewhere(self, count: int) -> None:
        """Take the number of edits made in other documents so far; if it has changed, drop everything cached here."""
        if count != self._edits_elsewhere:
            self.cancel_generation()
            self._edits_elsewhere = count
            self._cache, self._anchor, self._prefetched_before = CompletionCache(), None, None

    def requested(self) -> None:
        """The client requested a completion."""
        self._edits_without_request = 0

    def shown(
        self,
        completion: CachedCompletion,
        remainder: Remainder,
        text: str,
        inserted: str,
        invoked: bool = False,
    ) -> None:
        """`text` of a completion is shown; `inserted` is the same text with the document's line endings. `invoked`: the
        user requested it explicitly."""
        if invoked or completion is not self._offered or not completion.still_shown(remainder):
            self._offered, self._keys_over = completion, 0
        completion.shown = Remainder(text, remainder.typed, remainder.closers)
        self._shown = inserted

    def dismissed(self, line: int) -> None:
        """The user dismissed what was shown last, on this line."""
        self._dismissed, self._keys_since_dismissal = (line, plain(self._shown)), 0

    # Questions about the document.

    @property
    def client_is_requesting(self) -> bool:
        """Whether the client requested a completion within the last MAX_EDITS_WITHOUT_REQUEST edits."""
        return self._edits_without_request <= MAX_EDITS_WITHOUT_REQUEST

    @property
    def just_edited(self) -> bool:
        """Whether the client has made no request since the last edit."""
        return self._edits_without_request > 0

    @property
    def anchor(self) -> Anchor | None:
        return self._anchor

    def lookup(self, cursor: Cursor) -> tuple[CachedCompletion, Remainder] | None:
        """The cached or arriving completion that matches the cursor, and what is left of it; None on a cache miss."""
        return self._cache.find(cursor.before, cursor.after)

    def is_known(self, cursor: Cursor) -> bool:
        """Whether a cached completion has text left at the cursor or has ended there, so that the engine need not be
        asked."""
        found = self.lookup(cursor)
        return found is not None and bool(found[1].text.strip() or found[0].reason)

    def is_dismissed(self, line: int, text: str) -> bool:
        """Whether `text`, with `\\n` at the line ends, is part of what was dismissed on this line."""
        return self._dismissed is not None and self._dismissed[0] == line and text in self._dismissed[1]

    def facts(self, cursor: Cursor, completion: CachedCompletion | None = None, agreed: int = 0) -> Facts:
        """What the gate's features are computed from; `agreed` characters were typed that agree with `completion`."""
        return Facts(
            line_before=cursor.line_before,
            line_after=cursor.line_after,
            edit=self._edit,
            moved=cursor.position not in self._cursors,
            inside=text_kind(cursor.before, cursor.language_id, cursor.path.name),
            agreed=agreed,
            keys_over=self._keys_over if completion and completion is self._offered else 0,
            dismissed=self._keys_since_dismissal,
        )

    # The engine's session and the running stream.

    def set_anchor(self, anchor: Anchor) -> None:
        """Note that the session is being prefilled with this anchor's prompt."""
        self._anchor = anchor

    def fits_anchor(self, cursor: Cursor) -> bool:
        """Whether the session's prefilled prompt can be extended to the cursor."""
        return self._anchor is not None and self._anchor.middle(cursor.before, cursor.after) is not None

    @property
    def running_stream(self) -> CompletionStream | None:
        """The running stream, for whatever cursor it was started; None if there is none."""
        return self._stream if self._stream and not self._stream.done else None

    def stream_for(self, cursor: Cursor) -> CompletionStream | None:
        """The running stream if its completion matches the cursor, else None."""
        running = self.running_stream
        return running if running and running.completion.remainder(cursor.before, cursor.after) else None

    def keep_stream(self, cursor: Cursor | None) -> bool:
        """Whether a stream is running that agrees with the edit that left the cursor here; one that disagrees is
        cancelled."""
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
        """Start a stream for the cursor; a running one is cancelled."""
        self.cancel_generation()
        completion = CachedCompletion.between(cursor.before, cursor.after)
        self._cache.add(completion)
        self._stream = CompletionStream(completion, prepare, engine, invoked)
        return self._stream

    def cut_generation(self, remainder: Remainder, text: str) -> None:
        """Cancel the running stream; of its completion `text` stays, which is shown at the cursor of `remainder`."""
        running = self.running_stream
        if running is None or not remainder.text.startswith(text):
            return self.cancel_generation()
        self.cancel_background()
        running.cancel()
        running.completion.text = running.completion.text[: remainder.typed + len(text)]
        running.completion.reason = CUT
        self._stream = None
        return None

    def drop(self, stream: CompletionStream) -> None:
        """Discard a failed stream and its completion."""
        self._cache.remove(stream.completion)
        if self._stream is stream:
            self._stream = None

    # Tasks.

    def begin_prefetch(self, before: str) -> bool:
        """Whether to prefetch the completion after `before`; False if that was already begun for this text."""
        begins = self._prefetched_before != before
        self._prefetched_before = before
        return begins

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as the background task, in place of the previous one. Its UserErrors are dropped; the next request
        reports them."""

        async def guarded() -> None:
            with suppress(UserError):
                await work

        self.cancel_background()
        self._background = asyncio.create_task(guarded())

    def begin_request(self, task: "asyncio.Task[Any]") -> None:
        """Register the client's newest request; it supersedes the older one, which is cancelled."""
        self.cancel_request()
        self._request = task

    def cancel_request(self) -> None:
        """Cancel the client's request, which is out of date."""
        if self._request:
            self._request.cancel()
        self._request = None

    def cancel_background(self) -> None:
        """Cancel the background task, unless it is the one that calls this."""
        if self._background and self._background is not asyncio.current_task():
            self._background.cancel()
            self._background = None

    def cancel_generation(self) -> None:
        """Cancel the running stream, drop its text, and cancel the background task."""
        self.cancel_background()
        if running := self.running_stream:
            running.cancel()
            self._cache.remove(running.completion)
        self._stream = None

    def close(self) -> None:
        """Cancel the request, the stream and the background task."""
        self.cancel_request()
        self.cancel_generation()


def _added_to_word(change: DocumentChange, removed: int) -> str:
    """What a change adds to the word of `removed` units that it replaces; menu items contain the typed word again."""
    for kept in range(min(len(change.text), MAX_WORD_CHARACTERS) + 1):
        if change.units(change.text[:kept]) >= removed:
            return change.text[kept:]
    return ""
