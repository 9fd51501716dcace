"""A place in an open document at one moment, with all that is asked about it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types

from dlsp.completions.gate.features import Facts, inside
from dlsp.completions.gate.gate import Verdict
from dlsp.completions.types import SkipReason
from dlsp.server.link import Link
from dlsp.server.server import Server, document_path
from dlsp.server.typing import Typing


class Silence(Exception):
    """Nothing is answered, on purpose."""

    def __init__(self, quiet: SkipReason, note: str = "", verdict: Verdict | None = None) -> None:
        super().__init__(quiet.value)
        self.quiet, self.note, self.verdict = quiet, note, verdict


@dataclass(frozen=True)
class Moment:
    """The document between `before` and `after` the cursor, as it is now, and what is known of its typing.

    A notebook is one document: what stands in a cell is read with the cells around it. `position` is the cell's.
    """

    uri: str
    path: Path
    language: str
    mode: str
    position: types.Position
    before: str
    after: str
    typing: Typing
    link: Link

    @classmethod
    def of(cls, server: Server, uri: str, position: types.Position) -> "Moment":
        """Raises Silence where there is no such place."""
        document = server.document(uri)
        if document is None:
            raise Silence(SkipReason.UNKNOWN)
        cursor = document.cursor(position)
        if cursor is None:
            raise Silence(SkipReason.OUTSIDE)
        offset, right = cursor
        text, language = document.source, document.language_id or ""
        mode = server.settings(uri).suggests(language)
        typing, path = server.typing(uri), document_path(uri)
        if mode != "off":  # which does no work at all, no index either
            typing.seen(server.surroundings(uri).edits_besides(path))
        above, below = _cells(server, uri, language)
        before, after = above + text[:offset], text[offset:] + below
        return cls(uri, path, language, mode, right, before, after, typing, server.link(uri))

    def facts(self, agreed: int = 0) -> Facts:
        return self.typing.facts(self.before, self.after, self.position, self._inside, agreed)

    @cached_property
    def _inside(self) -> str:
        return inside(self.before, self.path.name)

    def doubt(self) -> None:
        """The engine took too long."""
        if self.link.engine:
            self.link.doubt(self.link.engine)


def _cells(server: Server, uri: str, language: str) -> tuple[str, str]:
    """The text of the notebook's cells before and after one, of those in its language; nothing outside of notebooks."""
    book = server.workspace.get_notebook_document(cell_uri=uri)
    cells = [unquote(cell.document) for cell in book.cells] if book else []
    if unquote(uri) not in cells:
        return "", ""
    at, documents = cells.index(unquote(uri)), server.workspace.text_documents
    above, below = (
        [document.source for each in part if (document := documents.get(each)) and document.language_id == language]
        for part in (cells[:at], cells[at + 1 :])
    )
    return "".join(f"{each}\n\n" for each in above), "".join(f"\n\n{each}" for each in below)
