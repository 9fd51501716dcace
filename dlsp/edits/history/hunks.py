"""Differences between two texts, as hunks of whole lines."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, order=True)
class Hunk:
    """Replace lines `start` to `end` (from 0, end excluded) by `lines`, which include their line endings."""

    start: int
    end: int
    lines: tuple[str, ...]

    def touches(self, other: "Hunk") -> bool:
        """Whether the two hunks share a line, or one inserts at an edge of the other."""
        inserts = self.start == self.end or other.start == other.end
        shared = min(self.end, other.end) - max(self.start, other.start)
        return shared > 0 or (shared == 0 and inserts)


def hunks(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """The hunks that turn `before` into `after`, in order; lines include their endings."""
    found: list[Hunk] = []
    for tag, i, k, j, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            found.append(canonical(Hunk(i, k, tuple(after[j:m])), before, found[-1].end + 1 if found else 0))
    return found


def canonical(hunk: Hunk, before: Sequence[str], top: int = 0) -> Hunk:
    """The same change with the fewest lines; an insertion or deletion is moved up as far as possible, not above row
    `top`."""
    start, end, lines = hunk.start, hunk.end, list(hunk.lines)
    while start < end and lines and before[start] == lines[0]:
        start, lines = start + 1, lines[1:]
    while start < end and lines and before[end - 1] == lines[-1]:
        end, lines = end - 1, lines[:-1]
    if start == end:
        while lines and start > top and before[start - 1] == lines[-1]:
            lines = [lines[-1], *lines[:-1]]
            start = end = start - 1
    elif not lines:
        while start > top and before[start - 1] == before[end - 1]:
            start, end = start - 1, end - 1
    return Hunk(start, end, tuple(lines))


def applied(before: Sequence[str], changes: Iterable[Hunk]) -> list[str]:
    """The lines after applying all changes, which must not overlap."""
    after: list[str] = []
    at = 0
    for each in sorted(changes):
        after += before[at : each.start]
        after += each.lines
        at = each.end
    return after + list(before[at:])


def lines_of(text: str) -> list[str]:
    """The lines with their endings, split at `\\n` only."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
