"""Sites that are offered for one edit, kept true while documents change."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dlsp.edits.edit import Edit
from dlsp.edits.hunks import Hunk


@dataclass(frozen=True)
class Offer:
    """In the document `uri`, whose lines at `hunk` are `old` now, the hunk's lines should stand.

    `confidence` is from 0 to 1.
    """

    id: str
    uri: str
    hunk: Hunk
    old: tuple[str, ...]
    confidence: float

    def holds(self, lines: Sequence[str]) -> bool:
        """Whether the document's lines are still those that this was offered for."""
        return tuple(lines[self.hunk.start : self.hunk.end]) == self.old and self.hunk.start <= len(lines)


def after(offers: Iterable[Offer], uri: str, change: Edit) -> list[Offer]:
    """The offers after a change of the document `uri`: moved with their lines, dropped where these were touched."""
    kept = []
    for offer in offers:
        if offer.uri != uri:
            kept.append(offer)
        elif not any(offer.hunk.touches(each) for each in change.hunks):
            above = [each for each in change.hunks if each.end <= offer.hunk.start]
            shift = sum(len(each.lines) - (each.end - each.start) for each in above)
            moved = replace(offer.hunk, start=offer.hunk.start + shift, end=offer.hunk.end + shift)
            kept.append(replace(offer, hunk=moved))
    return kept
