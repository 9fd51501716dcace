"""The user's last edit, found in the diffs that clients send with a request for a next edit.

Each client writes its diffs in its own way: unified ones with a file's head above each, hunks below a line that names
the file, hunks without line numbers or without context. All show lines that begin with `-`, `+` or a blank.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.history import SAME_EDIT_LINES
from dlsp.edits.history.hunks import Hunk, applied, lines_of

# The line that names a file: of unified diffs, in Zeta's and Instinct's prompts, of Sweep's server.
_NAMED = re.compile(r'(?:\+\+\+ (?:b/)?|User edited (?:file )?"|File: )([^"\n]*?)"?:?\s*')
_HEAD = re.compile(r"@@(?: -\d+(?:,\d+)?)?(?: \+(\d+)(?:,\d+)?)? @@.*")
_NO_END = "\\ No newline"


@dataclass
class Part:
    """One hunk as a diff shows it: its lines before and after, context included, and the row of its first line, from 0,
    if the diff says it."""

    row: int | None = None
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])

    @property
    def changes(self) -> bool:
        return self.old != self.new


@dataclass
class Diff:
    """The hunks of one file, whose path is empty where the diff does not say it."""

    path: str
    parts: list[Part] = field(default_factory=list[Part])


def diffs_of(changes: str) -> list[Diff]:
    """The diffs in a text, in its order; what is no part of a diff is ignored."""
    found = [Diff("")]
    part: Part | None = None
    for line in changes.split("\n"):
        if named := _NAMED.fullmatch(line):
            found.append(Diff(named[1]))
            part = None
        elif head := _HEAD.fullmatch(line):
            part = Part(int(head[1]) - 1 if head[1] else None)
            found[-1].parts.append(part)
        elif line.startswith(("-", "+")) and not line.startswith("--- "):
            if part is None:
                part = Part()
                found[-1].parts.append(part)
            (part.old if line[0] == "-" else part.new).append(line[1:])
        elif part is not None and line[:1] in ("", " "):
            part.old.append(line[1:])
            part.new.append(line[1:])
        elif not line.startswith(_NO_END):
            part = None
    for diff in found:
        for each in diff.parts:
            while each.old and each.new and each.old[-1] == each.new[-1] == "":
                del each.old[-1], each.new[-1]  # more likely blank lines below the diff than context
        diff.parts = [each for each in diff.parts if each.changes]
    return [diff for diff in found if diff.parts]


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths may name the same file: one ends as the other does, or is not known."""
    pair = sorted((PurePath(one).parts, PurePath(other).parts), key=len)
    return pair[1][len(pair[1]) - len(pair[0]) :] == pair[0]


def last_edit(diffs: Sequence[Diff], path: str, text: str) -> Edit | None:
    """The last edit of a file that has this text now: the last diff, and those before it that changed the same place.
    None if it is not an edit of this file, or its place in the text is not certain."""
    lines = before = lines_of(text)
    place: tuple[int, int] | None = None
    for diff in reversed(diffs):
        undone = _undone(before, diff) if is_same_file(diff.path, path) else []
        if not undone:
            break
        first, last = undone[0].start - SAME_EDIT_LINES, undone[-1].end + SAME_EDIT_LINES
        if place and not (first <= place[1] and place[0] <= last):
            break
        before = applied(before, undone)
        place = undone[0].start, undone[-1].start + len(undone[-1].lines)
    return Edit.between(path, "".join(before), "".join(lines)) if place else None


def excerpts(diff: Diff) -> tuple[str, str]:
    """What a diff shows of its file, before and after."""
    before = [f"{line}\n" for part in diff.parts for line in part.old]
    after = [f"{line}\n" for part in diff.parts for line in part.new]
    return "".join(before), "".join(after)


def _undone(lines: Sequence[str], diff: Diff) -> list[Hunk]:
    """The hunks that take a diff's changes back, in order; empty if one's place is not certain."""
    bare = [line.removesuffix("\n") for line in lines]
    found: list[Hunk] = []
    for part in diff.parts:
        row = _place(bare, part)
        if row is None:
            return []
        found.append(Hunk(row, row + len(part.new), tuple(f"{line}\n" for line in part.old)))
    found.sort()
    overlap = any(one.end > other.start for one, other in pairwise(found))
    return [] if overlap else found


def _place(lines: Sequence[str], part: Part) -> int | None:
    """The row at which a hunk's new lines stand: the only one, or of several the one that the diff says."""
    count = len(part.new)
    if not count:
        return None
    rows = [row for row in range(len(lines) - count + 1) if list(lines[row : row + count]) == part.new]
    return rows[0] if len(rows) == 1 else part.row if part.row in rows else None
