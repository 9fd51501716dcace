"""Convert offers to LSP: document versions, and the smallest range that changes."""

import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from lsprotocol import types

from dlsp.edits.carry import Offer
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import lines_of
from dlsp.edits.search.files import MAX_BYTES
from dlsp.edits.search.page import Page
from dlsp.ignore.reading import read
from dlsp.server.features.positions import Positions, as_json
from dlsp.server.session import Session, document_path

_WORD = re.compile(r"\w")


@dataclass(frozen=True)
class Location:
    """An offer in LSP terms: `range` of the document contains `old`, to be replaced by `new`. `version` None: a file on
    disk."""

    uri: str
    version: int | None
    range: types.Range
    old: str
    new: str


class _Text:
    """A text with its lines and their offsets."""

    def __init__(self, text: str, session: Session) -> None:
        self.lines = lines_of(text)
        self.positions = Positions(text, session.units)
        self.starts = list(accumulate(map(len, self.lines), initial=0))


class Locations:
    """Locates offers for one answer; each text is processed once.

    `files` are the texts of files that are not open, read in a thread; an offer in a file without text has no location.
    """

    def __init__(self, session: Session, files: dict[str, str] | None = None) -> None:
        self._session, self._files = session, dict(files or {})
        self._texts: dict[str, _Text | None] = {}

    def add(self, files: dict[str, str]) -> None:
        """Add the texts of more files that are not open."""
        for uri in files.keys() - self._files.keys():
            self._files[uri] = files[uri]
            self._texts.pop(uri, None)

    def locate(self, offer: Offer) -> Location | None:
        """The location of an offer; None if the document has changed since."""
        text = self._text(offer.uri)
        if text is None or not offer.holds(text.lines):
            return None
        start = text.starts[offer.hunk.start]
        old, new = "".join(offer.old), "".join(offer.hunk.lines)
        first, last = _differing(old, new)
        document = self._session.document(offer.uri)
        span = text.positions.range(start + first, start + len(old) - last)
        version = document.version if document else None
        return Location(offer.uri, version, span, old[first : len(old) - last], new[first : len(new) - last])

    def site(self, offer: Offer) -> dict[str, Any] | None:
        """The offer as a site in the answer of `dlsp/edits`."""
        location = self.locate(offer)
        if location is None:
            return None
        return {
            "id": offer.id,
            "textDocument": {"uri": location.uri, "version": location.version},
            "range": as_json(location.range),
            "oldText": location.old,
            "newText": location.new,
            "confidence": round(offer.confidence, 3),
            "certain": offer.certain,
        }

    def edit(self, edit: Edit, page: Page) -> dict[str, Any]:
        """The last edit itself: the text it removed, and the present range of the text it added."""
        first, last = page.edited[0][0], page.edited[-1][1]
        old = "".join(edit.before[edit.hunks[0].start : edit.hunks[-1].end])
        new = "".join(page.lines[first:last])
        before, behind = _differing(old, new)
        start, end = page.starts[first] + before, page.starts[last] - behind
        texts = {"oldText": old[before : len(old) - behind], "newText": new[before : len(new) - behind]}
        return {"uri": page.uri, "range": as_json(Positions(page.text, self._session.units).range(start, end)), **texts}

    def _text(self, uri: str) -> _Text | None:
        if uri not in self._texts:
            document = self._session.document(uri)
            text = document.source if document else self._files.get(uri)
            self._texts[uri] = None if text is None else _Text(text, self._session)
        return self._texts[uri]


def read_files(uris: set[str]) -> dict[str, str]:
    """The texts of those files that can be read, by URI. Run it in a thread."""
    texts: dict[str, str] = {}
    for uri in uris:
        path = document_path(uri)
        try:
            texts[uri] = read(path, MAX_BYTES, path.parent).decode("utf-8")
        except (OSError, ValueError):
            continue
    return texts


def _differing(old: str, new: str) -> tuple[int, int]:
    """The numbers of characters that agree at the start and at the end, in whole words."""
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
    """Whether the offset is inside a word or a line ending."""
    around = text[at - 1 : at + 1]
    return len(around) == 2 and (bool(_WORD.match(around[0]) and _WORD.match(around[1])) or around == "\r\n")
