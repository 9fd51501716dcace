"""A place where an edit may have to follow."""

from dataclasses import dataclass
from functools import cached_property

from dlsp.edits.hunks import Hunk
from dlsp.edits.page import Page
from dlsp.edits.tokens import LONGEST

MOST_TEXT = 16_000
"""Characters of a site's text that the engine takes."""


@dataclass(frozen=True)
class Site:
    """On a page, the lines `old` from row `start` on; `lines` might take their place.

    `odds` is the logarithm of how likely that is, by the edit and the text alone.
    """

    page: Page
    start: int
    old: tuple[str, ...]
    lines: tuple[str, ...]
    odds: float

    @property
    def is_long(self) -> bool:
        """Whether one of its lines is, or all of them are together, now or then."""
        is_long = any(len(line) > LONGEST for line in (*self.old, *self.lines))
        return is_long or max(sum(map(len, self.old)), sum(map(len, self.lines))) > MOST_TEXT

    @cached_property
    def hunk(self) -> Hunk:
        return Hunk(self.start, self.start + len(self.old), self.lines)

    def touches(self, other: "Site") -> bool:
        return self.page == other.page and self.hunk.touches(other.hunk)
