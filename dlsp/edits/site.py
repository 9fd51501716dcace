"""A place where an edit may have to follow."""

from dataclasses import dataclass

from dlsp.edits.hunks import Hunk
from dlsp.edits.page import Page


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

    def touches(self, other: "Site") -> bool:
        one, two = (Hunk(each.start, each.start + len(each.old), ()) for each in (self, other))
        return self.page == other.page and one.touches(two)
