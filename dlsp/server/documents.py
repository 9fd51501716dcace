"""Documents with LSP's definition of a line, and positions in the negotiated encoding.

Python's `splitlines` also breaks at form feeds, U+2028 and others; LSP and editors do not.
"""

import re
from collections.abc import Sequence
from itertools import islice
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import PositionCodec, ServerTextPosition, TextDocument, Workspace

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


class Codec(PositionCodec):
    """Positions in the negotiated encoding; a character beyond the line's end is clamped to it."""

    def column(self, line: str, units: int) -> int:
        """The index of the character at `units` code units into `line`, which has no line ending."""
        if line.isascii():
            return min(units, len(line))
        for column, char in enumerate(line):
            width = self.impl.code_units_for_char(char)
            if units < width:
                return column
            units -= width
        return len(line)

    def client_num_units(self, string: str) -> int:
        return len(string) if string.isascii() else super().client_num_units(string)

    def position_from_client_units(self, lines: Sequence[str], position: types.Position) -> ServerTextPosition:
        if position.line < len(lines):
            line = lines[position.line].rstrip("\r\n")
            return ServerTextPosition(position.line, self.column(line, position.character))
        end = len(lines) - 1
        return ServerTextPosition(end, len(lines[end])) if lines else ServerTextPosition(0, 0)


class Document(TextDocument):
    """An open document, stored as lines, so that an edit costs the same in a long file as in a short one."""

    def __init__(self, uri: str, source: str, version: int | None, language_id: str | None, codec: Codec) -> None:
        super().__init__(uri, source, version, language_id, position_codec=codec)
        self._codec = codec
        self._text: str | None = source
        self._lines = _split(source)

    @property
    def source(self) -> str:
        if self._text is None:
            self._text = "".join(self._lines)
        return self._text

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their endings; the last one has no ending and may be empty."""
        return self._lines

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        if not isinstance(change, types.TextDocumentContentChangePartial):
            self._text, self._lines = change.text, _split(change.text)
            return
        lines = self._lines
        start, end = sorted(
            (place.line, place.character)
            for each in (change.range.start, change.range.end)
            for place in [self._codec.position_from_client_units(lines, each)]
        )
        first, last = start[0], end[0]
        text = lines[first][: start[1]] + change.text + lines[last][end[1] :]
        if first > 0 and text.startswith("\n") and lines[first - 1].endswith("\r"):
            first -= 1  # the two form one line ending now
            text = lines[first] + text
        changed = _split(text)
        if last + 1 < len(lines):
            changed.pop()  # `text` ends with a line ending
        lines[first : last + 1] = changed
        self._text = None

    def cursor(self, position: types.Position) -> tuple[int, types.Position] | None:
        """The offset of `position` in `source`, and the position clamped to its line; None outside the document."""
        if position.line >= len(self._lines):
            return None
        line = self._lines[position.line].rstrip("\r\n")
        column = self._codec.column(line, position.character)
        offset = sum(map(len, islice(self._lines, position.line))) + column
        return offset, types.Position(position.line, self._codec.client_num_units(line[:column]))


class Documents(Workspace):
    """The open documents of an editor; each notebook cell is a document."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(
            workspace.root_uri,
            workspace_folders=list(workspace.folders.values()),
            position_encoding=workspace.position_encoding,
        )
        self._codec = Codec(workspace.position_encoding)
        self._position_codec = self._codec

    def update_text_document(
        self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent
    ) -> None:
        if unquote(text_doc.uri) in self.text_documents:  # VS Code may revert one it has closed
            super().update_text_document(text_doc, change)

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> Document:
        return Document(doc_uri, source or "", version, language_id, self._codec)


def _split(text: str) -> list[str]:
    """Split into lines with their endings; the last one has none and is empty if `text` ends with an ending."""
    lines = LINE.findall(text)
    if not lines or lines[-1].endswith(("\r", "\n")):
        lines.append("")
    return lines
