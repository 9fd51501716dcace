"""A workspace's edit history: keystrokes grouped into edits by place and pause, newest last.

Undoing an edit removes it. Applying an offer (see `expect`) does not count as the user's own edit.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk, applied

# A keystroke after a longer pause starts a new edit.
EDIT_PAUSE_S = 4.0
# The most lines between two keystrokes of the same edit.
SAME_EDIT_LINES = 1
MAX_STEPS, MAX_HISTORY_CHARACTERS = 48, 16_000_000
# Larger edits, such as formatting a file or switching a branch, have no sites.
MAX_EDIT_LINES = 400


class Change(Enum):
    """The kind of a change of a document's text."""

    NONE = "nothing changed"
    EDITED = "the user edited it"
    CARRIED = "an edit was carried on"
    UNDONE = "edits were undone"


@dataclass
class Step:
    """An edit in the history: the document `uri` changed from `before` to `after`, last at the clock time `at`
    (seconds).

    `number` is unique; `carried` steps applied an offer and are not the user's own edits.
    """

    number: int
    uri: str
    before: str
    after: str
    at: float
    carried: bool = False


class History:
    """The edit steps of a workspace's documents."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._steps: list[Step] = []
        self._texts: dict[str, str] = {}
        self._expected: dict[str, tuple[Hunk, ...]] = {}
        self._numbers = 0

    def opened(self, uri: str, text: str) -> None:
        """A document was opened with this text."""
        if self._texts.get(uri, text) != text:
            self._forget(uri)
        self._texts[uri] = text

    def closed(self, uri: str) -> None:
        """A document was closed: drop its text and its steps."""
        self._texts.pop(uri, None)
        self._forget(uri)

    def text(self, uri: str) -> str | None:
        """A document's present text; None if it is not open."""
        return self._texts.get(uri)

    def expect(self, uri: str, offered: Sequence[Hunk]) -> None:
        """Announce the offers: if the document's next change consists of some of them only, it counts as carried."""
        self._expected[uri] = tuple(offered)

    def changed(self, uri: str, text: str) -> Change:
        """Record that the document now has this text; returns the kind of change.

        An undo is recognised by the text it restores. A document that was not `opened` is ignored.
        """
        old = self._texts.get(uri)
        expected = self._expected.pop(uri, ())
        if old is None or old == text:
            return Change.NONE
        self._texts[uri] = text
        if self._undone(uri, text):
            return Change.UNDONE
        now, change = self._clock(), Edit.between("", old, text)
        if _does_some(change, expected):
            self._add(uri, old, text, now, carried=True)
            return Change.CARRIED
        last = self._steps[-1] if self._steps else None
        if last and last.uri == uri and not last.carried and now - last.at <= EDIT_PAUSE_S and _near(last, change):
            last.after, last.at = text, now
        else:
            self._add(uri, old, text, now)
        return Change.EDITED

    @property
    def numbers(self) -> set[int]:
        """The numbers of the steps in the history."""
        return {step.number for step in self._steps}

    @property
    def last(self) -> Step | None:
        """The user's own last edit; None if there is none."""
        return next((step for step in reversed(self._steps) if not step.carried), None)

    def earlier(self, step: Step, count: int) -> list[Step]:
        """The last `count` edits of the same document before this one, carried ones too, the newest last."""
        same = [each for each in self._steps if each.uri == step.uri and each.number < step.number]
        return same[max(0, len(same) - count) :]

    def edit(self, step: Step, path: str) -> Edit | None:
        """The step as an edit of `path`; None if it changed nothing or more than MAX_EDIT_LINES."""
        edit = Edit.between(path, step.before, step.after)
        return edit if 0 < edit.size <= MAX_EDIT_LINES else None

    def _add(self, uri: str, before: str, after: str, at: float, carried: bool = False) -> None:
        self._numbers += 1
        self._steps.append(Step(self._numbers, uri, before, after, at, carried))
        while (
            len(self._steps) > MAX_STEPS or sum(len(each.before) for each in self._steps[:-1]) > MAX_HISTORY_CHARACTERS
        ):
            del self._steps[0]

    def _undone(self, uri: str, text: str) -> bool:
        """Undo: if the document had this text before one of its steps, remove its steps from there on; returns whether
        it had."""
        for index in range(len(self._steps) - 1, -1, -1):
            if self._steps[index].uri == uri and self._steps[index].before == text:
                later = [step for step in self._steps[index:] if step.uri != uri]
                self._steps = self._steps[:index] + later
                return True
        return False

    def _forget(self, uri: str) -> None:
        self._expected.pop(uri, None)
        self._steps = [step for step in self._steps if step.uri != uri]


def _near(step: Step, change: Edit) -> bool:
    """Whether the change is at the same place as the last step."""
    place = Edit.between("", step.before, step.after).ranges()
    first, last = place[0][0] - SAME_EDIT_LINES, place[-1][1] + SAME_EDIT_LINES
    return change.hunks[0].start <= last and first <= change.hunks[-1].end


def _does_some(change: Edit, offered: Sequence[Hunk]) -> bool:
    """Whether the change consists of offered hunks only."""
    done = [each for each in offered if any(one.start <= each.start and each.end <= one.end for one in change.hunks)]
    return bool(done) and applied(change.before, done) == applied(change.before, change.hunks)
