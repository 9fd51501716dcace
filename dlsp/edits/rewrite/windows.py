"""The windows that the model writes anew after an edit: the lines around it, and lines that have its words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import DIFF_NAME, shown
from dlsp.edits.rewrite.formats import MAX_PAST_LINES, OWN, Format, before, clipped, earlier, numbered
from dlsp.edits.search.page import MAX_SITE_CHARACTERS, Page
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS, WORD, split

MAX_WINDOWS = 3
MIN_WORD_CHARACTERS = 3
# Tokens that a window may grow by.
MAX_ADDED_TOKENS = 96


@dataclass(frozen=True)
class Window:
    """Rows `start` to `end` (excluded) of the page; the first `keep` of them stay as they are. The user is, or will be,
    at the end of the row before `at`.
    """

    page: Page
    start: int
    end: int
    keep: int = 0
    at: int = 0

    @property
    def lines(self) -> list[str]:
        return self.page.lines[self.start : self.end]

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @property
    def cursor(self) -> int:
        """Where the user is, in characters of the text."""
        return max(0, len("".join(self.page.lines[self.start : self.at])) - 1)

    @property
    def is_long(self) -> bool:
        """Whether it is too long to be asked about, as generated lines are."""
        return len(self.text) > MAX_SITE_CHARACTERS or any(len(line) > MAX_LINE_CHARACTERS for line in self.lines)


def windows(edit: Edit, own: Page, form: Format = OWN) -> list[Window]:
    """The windows worth a question, at most MAX_WINDOWS, which do not overlap: the lines from the edit on first, then
    those with most of the words that the edit took away or put in, the nearest first.
    """
    if not own.edited:
        return []
    first, last = own.edited[-1]
    top = max(0, first - form.above)
    found = [Window(own, top, min(len(own.lines), last + form.below), last - top if form.keeps else 0, last)]
    if form.keeps and last >= len(own.lines):
        found = []
    words = _words(edit)
    rows = [row for row, line in enumerate(own.lines) if not own.is_edited(row, row + 1) and words & set(split(line))]
    while len(found) < MAX_WINDOWS:
        free = [row for row in rows if not any(each.start <= row < each.end for each in found)]
        if not free:
            break
        near = [[other for other in free if abs(other - row) <= form.around] for row in free]
        best = max(zip(free, near, strict=True), key=lambda each: (len(each[1]), -abs(each[0] - first)))[0]
        found.append(_around(own, best, found, form.around))
    return [each for each in found if each.text.strip() and not each.is_long]


def _around(own: Page, row: int, taken: Sequence[Window], lines: int) -> Window:
    """The window of so many lines around a row, without what belongs to other windows or to the edit."""
    blocked = [(each.start, each.end) for each in taken] + list(own.edited)
    start, end = max(0, row - lines), min(len(own.lines), row + lines + 1)
    start = max([start, *(last for _, last in blocked if last <= row)])
    end = min([end, *(first for first, _ in blocked if first > row)])
    return Window(own, start, end, at=row + 1)


def _words(edit: Edit) -> set[str]:
    """The names that only the old lines of the edit have, or only the new ones."""
    old = {word for hunk in edit.hunks for line in edit.before[hunk.start : hunk.end] for word in split(line)}
    new = {word for hunk in edit.hunks for line in hunk.lines for word in split(line)}
    return {word for word in old ^ new if len(word) >= MIN_WORD_CHARACTERS and WORD.fullmatch(word)}


def request(edit: Edit, asked: Sequence[Window], form: Format = OWN, past: Sequence[Edit] = ()) -> dict[str, Any]:
    """Build the request that has these windows written anew: what another key does not change comes first. `past` are
    the edits before this one.
    """
    bounds = {"max_tokens": MAX_ADDED_TOKENS} | ({} if form.force is None else {"force": form.force})
    if form.is_own:
        shown_windows = [{"path": each.page.path, "text": each.text, "keep": each.keep} for each in asked]
        return {"edits": [{"path": DIFF_NAME, "text": shown(edit)}], "windows": shown_windows} | bounds
    files = [{"path": edit.path, "text": earlier(edit, form.earlier)}] if form.earlier else []
    # Offers that were applied since may have changed more.
    since = Edit.between(edit.path, edit.text, asked[0].page.text)
    shown_windows = [_in_context(since, each, form) for each in asked]
    small = [each for each in past if each.size <= MAX_PAST_LINES]
    edits = [{"path": each.path, "text": numbered(each)} for each in (*small[max(0, len(small) - form.past) :], edit)]
    return {"files": files, "edits": edits, "windows": shown_windows} | bounds


def _in_context(since: Edit, window: Window, form: Format) -> dict[str, Any]:
    lines, start, end = window.page.lines, window.start, window.end
    return {
        "path": window.page.path,
        "text": window.text,
        "before": before(since, start, end),
        "keep": window.keep,
        "prefix": clipped(lines[max(0, start - form.context) : start]),
        "suffix": clipped(lines[end : end + form.context]),
        "row": start,
        "cursor": window.cursor,
    }
