"""What a model that writes edits is asked, by the format in which it was trained; the engine writes its prompts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dlsp.edits.history.edit import DIFF_CONTEXT_LINES, Edit
from dlsp.edits.rank.proposals import shown
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS

# The largest number of nats by which the window's own token may be likelier than another one at the place that is
# doubted most: there the other one is written, and the gate decides on the result.
FORCED_NATS = 3.0

# Edits before the last one that are shown, and the lines of one, removed and added, at most.
MAX_PAST, MAX_PAST_LINES = 5, 40


@dataclass(frozen=True)
class Format:
    """The windows that a model expects. `name` is the engine's name of the format.

    `above` and `below` are lines around the edit; with `keeps`, those above it and its own stay as they are. `around`
    are lines on each side of a line elsewhere. `context` are lines of the file that are shown before and behind each
    window, and `earlier` lines on each side of the edit, of the file as it was before. `past` is how many edits of the
    file before this one are shown.

    `force` is as for `/v1/rewrite`. A format that others trained has none, and no gate: the model decides.
    """

    name: str
    above: int
    below: int
    around: int
    keeps: bool = True
    context: int = 0
    earlier: int = 0
    past: int = 0
    force: float | None = None

    @property
    def is_own(self) -> bool:
        return self.name == OWN.name


OWN = Format("dlsp", above=4, below=24, around=6, force=-FORCED_NATS)
FORMATS = {
    each.name: each
    for each in (
        OWN,
        Format("sweep", above=10, below=10, around=10, earlier=60, past=MAX_PAST),
        Format("zeta1", above=15, below=15, around=15, keeps=False, context=8, past=MAX_PAST),
        Format("zeta2", above=15, below=15, around=15, keeps=False, context=8, past=MAX_PAST),
        Format("zeta2.1", above=15, below=15, around=15, keeps=False, context=8, past=MAX_PAST),
    )
}


def numbered(edit: Edit) -> str:
    """The edit's diff as `shown`, with the numbers of lines in the heads of its hunks."""
    heads: list[str] = []
    for hunk, (first, last) in zip(edit.hunks, edit.ranges(), strict=True):
        above = min(hunk.start, DIFF_CONTEXT_LINES)
        around = above + min(len(edit.before) - hunk.end, DIFF_CONTEXT_LINES)
        old, new = hunk.end - hunk.start + around, last - first + around
        heads.append(f"@@ -{hunk.start - above + 1},{old} +{first - above + 1},{new} @@")
    left = iter(heads)
    return re.sub("^@@ @@$", lambda _: next(left), shown(edit), flags=re.MULTILINE)


def earlier(edit: Edit, lines: int) -> str:
    """The file before the edit, so many lines on each side of it."""
    first, last = edit.hunks[0].start, edit.hunks[-1].end
    return clipped(edit.before[max(0, first - lines) : last + lines])


def clipped(lines: Sequence[str]) -> str:
    """Lines that are only shown, without what is beyond MAX_LINE_CHARACTERS."""
    return "".join(line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "\n" for line in lines)


def before(edit: Edit, start: int, end: int) -> str:
    """What the edit made the rows `start` to `end` (excluded) of."""
    return "".join(edit.before[_earlier(edit, start) : _earlier(edit, end)])


def _earlier(edit: Edit, row: int) -> int:
    """The row before the edit that the row `row` after it comes from; behind lines that were taken away there."""
    shift = 0
    for hunk, (first, last) in zip(edit.hunks, edit.ranges(), strict=True):
        if row < first or row == 0:
            break
        if row < last:
            return hunk.start + min(row - first, hunk.end - hunk.start)
        shift += len(hunk.lines) - (hunk.end - hunk.start)
    return row - shift
