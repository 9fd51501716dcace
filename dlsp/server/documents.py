"""Documents with the protocol's idea of a line, and positions in the editor's units.

Python's `splitlines` also breaks at form feeds, U+2028 and the like; the protocol, and editors, do not.
"""

import re
from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec, ServerTextPosition, TextDocument, Workspace

LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


class Codec(PositionCodec):
    """Positions in the negotiated encoding; a character beyond its line means the line's end."""

    def column(self, line: str, units: int) -> int:
        """The index of the character that starts `units` code units into `line`, given without its ending."""
        if line.isascii():
            return min(units, len(line))
        for column, char in enumerate(line):
            width = self.impl.code_units_for_char(char)
            if units < width:
                return column
            units -= width
        return len(line)

    def position_from_client_units(self, lines: Sequence[str], position: types.Position) -> ServerTextPosition:
        if position.line < len(lines):
            line = lines[position.line].rstrip("\r\n")
            return ServerTextPosition(position.line, self.column(line, position.character))
        end = len(lines) - 1
        return ServerTextPosition(end, len(lines[end])) if lines else ServerTextPosition(0, 0)


class Document(TextDocument):
    """An open document."""

    @property
    def lines(self) -> Sequence[str]:
        return tuple(LINE.findall(self.source))

    def cursor(self, position: types.Position) -> tuple[int, types.Position] | None:
        """The offset of `position` in `source`, and the position put right; None outside the document."""
        lines = list(self.lines)
        if not lines or lines[-1].endswith(("\r", "\n")):
            lines.append("")
        if position.line >= len(lines):
            return None
        codec = self.position_codec
        assert isinstance(codec, Codec)
        line = lines[position.line].rstrip("\r\n")
        column = codec.column(line, position.character)
        offset = sum(map(len, lines[: position.line])) + column
        return offset, types.Position(position.line, codec.client_num_units(line[:column]))


class Documents(Workspace):
    """The open documents of an editor."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(
            workspace.root_uri,
            workspace_folders=list(workspace.folders.values()),
            position_encoding=workspace.position_encoding,
        )
        self._position_codec = Codec(workspace.position_encoding)

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> Document:
        return Document(doc_uri, source, version, language_id, position_codec=self._position_codec)
