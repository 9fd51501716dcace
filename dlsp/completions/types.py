"""Value types of a completion: cursor, snapshot, document change, and result."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from dlsp.completions.closers import behind
from dlsp.context.workspace import Workspace
from dlsp.settings.schema import Settings
from dlsp.syntax.languages import Language

# Pairs that editors auto-close, leaving the cursor in between.
AUTO_CLOSED_PAIRS = frozenset(["()", "[]", "{}", '""', "''", "``"])


class SkipReason(Enum):
    """Why there is no suggestion; the value is a sentence for the user."""

    UNKNOWN = "the document is not open"
    OUTSIDE = "the position is not in the document"
    IGNORED = "the file is excluded from suggestions"
    MISSING = "the model is not on this machine"
    LOADING = "the engine is loading"
    FAILED = "the engine could not answer"
    SLOW = "the engine is too busy to answer in time"
    STALE = "an edit or a newer request came first"
    EMPTY = "the model has nothing to add here"
    BROKEN = "the suggestion would break the file's syntax"
    REPEAT = "the model only repeats the text after the cursor"
    STUTTER = "the model says the same few characters again and again"
    OFF = "suggestions are off here"
    SNOOZED = "suggestions are snoozed"
    MANUAL = "suggestions come only when asked for here"
    BLANK = "the file is empty, and no other says what belongs in it"
    DELETED = "something was just deleted"
    MIDWORD = "the cursor is in the middle of a word"
    UNLIKELY = "a suggestion is seldom right at such a place"
    UNSURE = "the model is not sure enough"
    SHORT = "the suggestion is shorter than what is worth reading"
    NEWLINE = "the line is complete"
    DISMISSED = "you sent this suggestion away"
    TYPED = "you typed on over this suggestion"

    @property
    def code(self) -> str:
        """The name used in logs and metrics and sent to editors."""
        return self.name.lower()


class Position(NamedTuple):
    """A position in a document: the line from 0, the character in the units of the caller."""

    line: int
    character: int


START = Position(0, 0)


@dataclass(frozen=True)
class Snapshot:
    """One open document at one time, with its settings and workspace.

    `name` is its path relative to the workspace, `language_id` the editor's name for its language, `language` its
    grammar (None for plain text). `edits_elsewhere` counts the edits made in other documents of its workspace.
    """

    uri: str
    path: Path
    name: str
    language_id: str
    language: Language | None
    version: int | None
    text: str
    settings: Settings
    workspace: Workspace
    edits_elsewhere: int = 0

    @property
    def eagerness(self) -> str:
        """When suggestions appear automatically: `auto`, `eager`, `manual` or `off`."""
        return self.settings.suggests(self.language_id)


@dataclass(frozen=True)
class Cursor(Snapshot):
    """A cursor in a snapshot, between the texts `before` and `after`.

    A notebook is one document: `before` and `after` include the cells around the cursor's cell, while `position` is
    relative to the cell and `text` is the cell's own text. `closers` are closing brackets and quotes that stand between
    the two, if they are not in `after`.
    """

    position: Position = START
    before: str = ""
    after: str = ""
    closers: str = ""

    @property
    def line_before(self) -> str:
        """The cursor's line up to the cursor."""
        return self.before[max(self.before.rfind("\n"), self.before.rfind("\r")) + 1 :]

    @property
    def line_after(self) -> str:
        """The cursor's line from the cursor on."""
        return self.closers + self.after.partition("\n")[0].rstrip("\r")

    def apart_from_closers(self) -> "Cursor":
        """The same cursor with the closing brackets and quotes that a suggestion may replace in `closers`, not in
        `after`."""
        found = "" if self.closers else behind(self.line_before, self.line_after)
        return replace(self, closers=found, after=self.after[len(found) :]) if found else self

    def accepted(self, text: str, replaced: int) -> "Cursor":
        """The cursor after `text`, in place of so many `closers`; `position` is no longer valid."""
        return replace(self, before=self.before + text, closers=self.closers[replaced:])


@dataclass(frozen=True)
class DocumentChange:
    """The range from `start` to `end` was replaced by `text`; `units` is the length of a text in position units."""

    start: Position
    end: Position
    text: str
    units: Callable[[str], int]

    @property
    def cursors(self) -> tuple[Position, ...]:
        """Where the cursor may be after the change, likeliest last: at the end of the text, or inside auto-closed
        brackets."""
        lines = self.text.replace("\r\n", "\n").split("\n")
        column = self.units(lines[-1]) + (self.start.character if len(lines) == 1 else 0)
        end = Position(self.start.line + len(lines) - 1, column)
        if self.text in AUTO_CLOSED_PAIRS:
            return end, Position(end.line, max(0, end.character - 1))
        if not self.text.strip() and len(lines) == 3 and len(lines[1]) > len(lines[2]):  # Enter between two brackets
            return end, Position(self.start.line + 1, self.units(lines[1]))
        return (end,)


@dataclass(frozen=True)
class Verdict:
    """The gate's decision: `skip` is None if it agrees; `probability` is that of being right, None if unknown."""

    skip: SkipReason | None
    probability: float | None
    features: Mapping[str, float]


@dataclass(frozen=True)
class CompletionResult:
    """The text to insert at the cursor, with the document's line endings, or the skip reason.

    The text replaces `replaced` characters behind the cursor: closing brackets and quotes that it has itself. `note` is
    a detail for the log, without document text. `from_cache`: the engine was not asked. `reason` says why the engine's
    text ended, `cost` what it took; both are defined by the engine's HTTP API. `id` is that of a text that was
    completed for an editor.
    """

    text: str = ""
    skip: SkipReason | None = None
    note: str = ""
    verdict: Verdict | None = None
    from_cache: bool = False
    reason: str = ""
    cost: dict[str, Any] = field(default_factory=dict[str, Any])
    replaced: int = 0
    id: str = field(default="", compare=False)


@dataclass(frozen=True)
class Completed:
    """An answered completion request, as observers see it.

    `id` identifies the suggestion; editors that report outcomes send it back. `milliseconds` passed between the request
    and the result.
    """

    id: str
    uri: str
    version: int | None
    language_id: str | None
    position: Position
    invoked: bool
    result: CompletionResult
    milliseconds: float
