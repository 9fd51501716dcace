"""What is known of a document that is being typed in."""

import asyncio
from collections.abc import Callable, Sequence

from lsprotocol import types

from dlsp.completions.anchor import Anchor
from dlsp.completions.cache import CompletionCache
from dlsp.completions.gate.features import Edit, Facts, kind_of_edit
from dlsp.context.parts import plain
from dlsp.server.growing import Growing
from dlsp.settings.schema import Settings

STILL_ASKING = 3
"""Edits without a question after which an editor is taken to ask no more."""
LONGEST = 200
"""Characters of a word."""
PAIRS = frozenset(["()", "[]", "{}", '""', "''", "``"])


class Typing:
    """Answers to recall, the one that is growing, the anchor of the engine's session, and the last edit.

    `unasked` counts the edits since the editor last asked: one that does not ask any more wants nothing done ahead.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.memory = CompletionCache()
        self.growing: Growing | None = None
        self.anchor: Anchor | None = None
        self.unasked = STILL_ASKING + 1
        self.dismissed: tuple[int, str] | None = None  # the line, and the text that was sent away
        self.offered = ""
        self.menu_at: types.Position | None = None  # where the menu was asked for since the last edit
        self.by_key = False  # whether a key asked for it
        self.ahead_of = ""  # the text before the place that was asked about ahead of time
        self._edit = Edit.NONE
        self._ends: tuple[types.Position, ...] = ()
        self._keys_since_dismissal: int | None = None
        self._elsewhere = 0
        self._later: asyncio.Task[None] | None = None

    def changed(self, changes: Sequence[types.TextDocumentContentChangeEvent], units: Callable[[str], int]) -> None:
        """The editor changed the document; `units` says how long a text is for it."""
        self.unasked += 1
        if self._keys_since_dismissal is not None:
            self._keys_since_dismissal += 1
        self._edit, self._ends, self.menu_at = Edit.NONE, (), None
        if len(changes) != 1 or not isinstance(changes[0], types.TextDocumentContentChangePartial):
            return
        start, end, text = changes[0].range.start, changes[0].range.end, changes[0].text
        self._edit = kind_of_edit(start != end, text)
        removed = end.character - start.character if start.line == end.line else 0
        taken = _added(text, removed, units) if len(text) > 1 else ""
        if taken and self.offered.startswith(taken):
            self._edit = Edit.ACCEPTED
        lines = text.replace("\r\n", "\n").split("\n")
        column = units(lines[-1]) + (start.character if len(lines) == 1 else 0)
        end = types.Position(start.line + len(lines) - 1, column)
        self._ends = (end,)
        if text in PAIRS:
            self._ends = (end, types.Position(end.line, max(0, end.character - 1)))
        elif not text.strip() and len(lines) == 3 and len(lines[1]) > len(lines[2]):  # Enter between two brackets
            self._ends = (end, types.Position(start.line + 1, units(lines[1])))

    def seen(self, elsewhere: int) -> None:
        """So many edits there were in other documents: answers and the anchor from before the last are out of date."""
        if elsewhere != self._elsewhere:
            self.let_go()
            self._elsewhere, self.memory, self.anchor, self.ahead_of = elsewhere, CompletionCache(), None, ""

    @property
    def asking(self) -> bool:
        """Whether the editor still asks."""
        return self.unasked <= STILL_ASKING

    @property
    def end(self) -> types.Position | None:
        """Where the cursor must be after the last edit, if that can be said."""
        return self._ends[-1] if self._ends else None

    def moved(self, position: types.Position) -> bool:
        """Whether the cursor is not where the last edit left it."""
        return position not in self._ends

    def dismiss(self, line: int) -> None:
        """The user sent away what was offered."""
        self.dismissed, self._keys_since_dismissal = (line, plain(self.offered)), 0

    def sent_away(self, line: int, text: str) -> bool:
        """Whether the text, with `\\n` at the line ends, or one that it is a part of, was sent away on this line."""
        return self.dismissed is not None and self.dismissed[0] == line and text in self.dismissed[1]

    def facts(self, before: str, after: str, position: types.Position, inside: str, agreed: int = 0) -> Facts:
        line_before = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
        line_after = after.partition("\n")[0].rstrip("\r")
        moved = self.moved(position)
        return Facts(line_before, line_after, self._edit, moved, inside, agreed, self._keys_since_dismissal)

    def later(self, task: "asyncio.Task[None] | None") -> None:
        """What is to be done in the background now; what was, is not any more."""
        if self._later and self._later is not asyncio.current_task():
            self._later.cancel()
        self._later = task

    def let_go(self) -> None:
        """Cancel what is growing, whose text is no answer, and what was to be done then."""
        self.later(None)
        if self.growing and not self.growing.done:
            self.growing.cancel()
            self.memory.remove(self.growing.answer)
        self.growing = None


def _added(text: str, removed: int, units: Callable[[str], int]) -> str:
    """What a text adds to the word of so many units that it replaces: a menu puts that in again."""
    for kept in range(min(len(text), LONGEST) + 1):
        if units(text[:kept]) >= removed:
            return text[kept:]
    return ""
