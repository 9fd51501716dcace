"""Regions of other documents that were recently edited or viewed."""

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
    """The most recent regions, one per neighbourhood of a document; paths are relative to the workspace.

    One thread may note while others read: the regions are replaced, never changed.
    """

    def __init__(self) -> None:
        self._regions: tuple[tuple[int, Region], ...] = ()  # with the row that was noted, the most recent last

    def note(self, path: str, lines: Sequence[str], row: int, *, edited: bool) -> None:
        """Note an edit or view at `row` (from 0) of a document with these lines (line endings included)."""
        first = max(0, row - LINES_AROUND)
        text = "".join(lines[first : row + LINES_AROUND + 1])
        near = [each for at, each in self._regions if each.path == path and abs(at - row) <= 2 * LINES_AROUND]
        kept = [(at, each) for at, each in self._regions if each not in near]
        if text.strip():
            kept.append((row, Region(path, first, text, edited or any(each.edited for each in near))))
        self._regions = tuple(kept[-MAX_REGIONS:])

    def parts(self, path: str) -> list[Part]:
        """Regions for a request in `path`: edited ones first, then viewed ones, each the most recent first."""
        regions = [each for _, each in reversed(self._regions) if each.path != path]
        regions.sort(key=lambda each: not each.edited)
        return [
            Part(each.path, each.row, each.text, "edited lately" if each.edited else "looked at lately")
            for each in regions
        ]
