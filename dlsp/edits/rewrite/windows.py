"""The windows that the model writes anew after an edit: the lines around it, and lines that have its words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import DIFF_NAME, shown
from dlsp.edits.search.page import MAX_SITE_CHARACTERS, Page
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS, WORD, split

# Lines around the edit: those above it are only read, those below may change.
ABOVE_LINES, BELOW_LINES = 4, 24
# Lines on each side of a line elsewhere that has a word of the edit.
AROUND_LINES = 6
MAX_WINDOWS = 3
MIN_WORD_CHARACTERS = 3
# The largest number of nats by which the window's own token may be likelier than another one at the place that is
# doubted most: there the other one is written, and the gate decides on the result.
FORCED_NATS = 3.0
# Tokens that a window may grow by.
MAX_ADDED_TOKENS = 96


@dataclass(frozen=True)
class Window:
    """Rows `start` to `end` (excluded) of the page; the first `keep` of them stay as they are."""

    page: Page
    start: int
    end: int
    keep: int = 0

    @property
    def lines(self) -> list[str]:
        return self.page.lines[self.start : self.end]

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def is_long(self) -> bool:
        """Whether it is too long to be asked about, as generated lines are."""
        return len(self.text) > MAX_SITE_CHARACTERS or any(len(line) > MAX_LINE_CHARACTERS for line in self.lines)


def windows(edit: Edit, own: Page) -> list[Window]:
    """The windows worth a question, at most MAX_WINDOWS, which do not overlap: the lines from the edit on first, then
    those with most of the words that the edit took away or put in, the nearest first.
    """
    if not own.edited:
        return []
    first, last = own.edited[-1]
    top = max(0, first - ABOVE_LINES)
    found = [Window(own, top, min(len(own.lines), last + BELOW_LINES), last - top)]
    if last >= len(own.lines):
        found = []
    words = _words(edit)
    rows = [row for row, line in enumerate(own.lines) if not own.is_edited(row, row + 1) and words & set(split(line))]
    while len(found) < MAX_WINDOWS:
        free = [row for row in rows if not any(each.start <= row < each.end for each in found)]
        if not free:
            break
        near = [[other for other in free if abs(other - row) <= AROUND_LINES] for row in free]
        best = max(zip(free, near, strict=True), key=lambda each: (len(each[1]), -abs(each[0] - first)))[0]
        found.append(_around(own, best, found))
    return [each for each in found if each.text.strip() and not each.is_long]


def _around(own: Page, row: int, taken: Sequence[Window]) -> Window:
    """The window around a row, without what belongs to other windows or to the edit."""
    blocked = [(each.start, each.end) for each in taken] + list(own.edited)
    start, end = max(0, row - AROUND_LINES), min(len(own.lines), row + AROUND_LINES + 1)
    start = max([start, *(last for _, last in blocked if last <= row)])
    end = min([end, *(first for first, _ in blocked if first > row)])
    return Window(own, start, end)


def _words(edit: Edit) -> set[str]:
    """The names that only the old lines of the edit have, or only the new ones."""
    old = {word for hunk in edit.hunks for line in edit.before[hunk.start : hunk.end] for word in split(line)}
    new = {word for hunk in edit.hunks for line in hunk.lines for word in split(line)}
    return {word for word in old ^ new if len(word) >= MIN_WORD_CHARACTERS and WORD.fullmatch(word)}


def request(edit: Edit, asked: Sequence[Window]) -> dict[str, Any]:
    """Build the request that has these windows written anew: what another key does not change comes first."""
    return {
        "edits": [{"path": DIFF_NAME, "text": shown(edit)}],
        "windows": [{"path": each.page.path, "text": each.text, "keep": each.keep} for each in asked],
        "force": -FORCED_NATS,
        "max_tokens": MAX_ADDED_TOKENS,
    }
