"""Regions of other documents that were edited or looked at lately."""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from dlsp.context.parts import Part

MOST = 12
# Lines shown above and below.
AROUND = 8


@dataclass(frozen=True)
class Region:
    """The text around a place of a document as it was when it was noted."""

    path: str
    row: int
    text: str
    edited: bool


class Recent:
    """The latest regions, one for each neighbourhood of a document; `path` as the workspace sees it."""

    def __init__(self) -> None:
        self._regions: OrderedDict[tuple[str, int], Region] = OrderedDict()
        self._edits: Counter[str] = Counter()

    def note(self, path: str, lines: Sequence[str], row: int, *, edited: bool) -> None:
        """Something happened at a row (from 0) of the document, whose lines these are with their endings."""
        self._edits[path] += edited
        first = max(0, row - AROUND)
        kept = "".join(lines[first : row + AROUND + 1])
        for near in [key for key in self._regions if key[0] == path and abs(key[1] - row) <= 2 * AROUND]:
            edited = self._regions.pop(near).edited or edited
        if kept.strip():
            self._regions[path, row] = Region(path, first, kept, edited)
        while len(self._regions) > MOST:
            self._regions.popitem(last=False)

    def edits_besides(self, path: str) -> int:
        """How many there were in other documents."""
        return self._edits.total() - self._edits[path]

    def parts(self, path: str) -> list[Part]:
        """For a request in `path`: the edited ones first, each kind the latest first."""
        regions = [each for each in reversed(self._regions.values()) if each.path != path]
        regions.sort(key=lambda each: not each.edited)
        return [
            Part(each.path, each.row, each.text, "edited lately" if each.edited else "looked at lately")
            for each in regions
        ]
