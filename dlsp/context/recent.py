"""Regions of other documents that were recently edited or viewed."""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from dlsp.context.parts import Part

MAX_REGIONS = 12
# Lines kept above and below the row.
LINES_AROUND = 8


@dataclass(frozen=True)
class Region:
    """The text around a row of a document, as it was when it was noted."""

    path: str
    row: int
    text: str
    edited: bool


class Recent:
    """The most recent regions, one per neighbourhood of a document; paths are relative to the workspace."""

    def __init__(self) -> None:
        self._regions: OrderedDict[tuple[str, int], Region] = OrderedDict()
        self._edits: Counter[str] = Counter()

    def note(self, path: str, lines: Sequence[str], row: int, *, edited: bool) -> None:
        """Note an edit or view at `row` (from 0) of a document with these lines (line endings included)."""
        self._edits[path] += edited
        first = max(0, row - LINES_AROUND)
        kept = "".join(lines[first : row + LINES_AROUND + 1])
        for near in [key for key in self._regions if key[0] == path and abs(key[1] - row) <= 2 * LINES_AROUND]:
            edited = self._regions.pop(near).edited or edited
        if kept.strip():
            self._regions[path, row] = Region(path, first, kept, edited)
        while len(self._regions) > MAX_REGIONS:
            self._regions.popitem(last=False)

    def edits_besides(self, path: str) -> int:
        """The number of edits in other documents."""
        return self._edits.total() - self._edits[path]

    def parts(self, path: str) -> list[Part]:
        """Regions for a request in `path`: edited ones first, then viewed ones, each the most recent first."""
        regions = [each for each in reversed(self._regions.values()) if each.path != path]
        regions.sort(key=lambda each: not each.edited)
        return [
            Part(each.path, each.row, each.text, "edited lately" if each.edited else "looked at lately")
            for each in regions
        ]
