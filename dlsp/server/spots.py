"""Offers as the protocol says them: versions, and ranges of what changes within the lines."""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lsprotocol import types

from dlsp.edits.carry import Offer
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import lines_of
from dlsp.edits.search.page import Page
from dlsp.server.documents import LINE
from dlsp.server.server import Server, document_path

_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class Spot:
    """In a document at a version (None: the file on disk), `range` holds `old` and `new` should stand there."""

    uri: str
    version: int | None
    range: types.Range
    old: str
    new: str


class Spots:
    """Made for one answer: what it reads of a file is read once."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._texts: dict[str, str | None] = {}

    def spot(self, offer: Offer) -> Spot | None:
        """None if the document's text has moved on."""
        text = self._text(offer.uri)
        if text is None:
            return None
        lines = lines_of(text)
        if not offer.holds(lines):
            return None
        start = sum(map(len, lines[: offer.hunk.start]))
        old, new = "".join(offer.old), "".join(offer.hunk.lines)
        first, last = _differing(old, new)
        document = self._server.document(offer.uri)
        span = types.Range(self._position(text, start + first), self._position(text, start + len(old) - last))
        version = document.version if document else None
        return Spot(offer.uri, version, span, old[first : len(old) - last], new[first : len(new) - last])

    def site(self, offer: Offer) -> dict[str, Any] | None:
        """As `dlsp/edits` answers it."""
        spot = self.spot(offer)
        if spot is None:
            return None
        return {
            "id": offer.id,
            "textDocument": {"uri": spot.uri, "version": spot.version},
            "range": plain(spot.range),
            "oldText": spot.old,
            "newText": spot.new,
            "confidence": round(offer.confidence, 3),
            "certain": offer.certain,
        }

    def edit(self, edit: Edit, page: Page) -> dict[str, Any]:
        """The edit that is carried on: what it took away, and where that which it put there stands now."""
        first, last = page.edited[0][0], page.edited[-1][1]
        old = "".join(edit.before[edit.hunks[0].start : edit.hunks[-1].end])
        new = "".join(page.lines[first:last])
        before, behind = _differing(old, new)
        start, end = page.starts[first] + before, page.starts[last] - behind
        span = types.Range(self._position(page.text, start), self._position(page.text, end))
        texts = {"oldText": old[before : len(old) - behind], "newText": new[before : len(new) - behind]}
        return {"uri": page.uri, "range": plain(span), **texts}

    def _text(self, uri: str) -> str | None:
        if uri not in self._texts:
            document = self._server.document(uri)
            if document:
                self._texts[uri] = document.source
            else:
                try:
                    self._texts[uri] = document_path(uri).read_bytes().decode("utf-8")
                except (OSError, ValueError):
                    self._texts[uri] = None
        return self._texts[uri]

    def _position(self, text: str, offset: int) -> types.Position:
        """The protocol's: a line ends at `\\r` too, and characters are the editor's units."""
        starts = list(accumulate(map(len, LINE.findall(text[:offset])), initial=0))
        at_start = text[:offset].endswith(("\n", "\r")) or not offset
        row = len(starts) - 1 if at_start else len(starts) - 2
        units = self._server.workspace.position_codec.client_num_units(text[starts[row] : offset])
        return types.Position(row, units)


def _differing(old: str, new: str) -> tuple[int, int]:
    """How many characters agree at the start and at the end, whole words only."""
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    while first and any(_cuts(text, first) for text in (old, new)):
        first -= 1
    while last and any(_cuts(text, len(text) - last) for text in (old, new)):
        last -= 1
    return first, last


def _cuts(text: str, at: int) -> bool:
    """Whether a place is inside a word, or inside a line end."""
    around = text[at - 1 : at + 1]
    return len(around) == 2 and (bool(_WORD.match(around[0]) and _WORD.match(around[1])) or around == "\r\n")


def plain(span: types.Range) -> dict[str, Any]:
    """A range as JSON."""
    return {
        name: {"line": place.line, "character": place.character}
        for name, place in (("start", span.start), ("end", span.end))
    }
