"""A document of an editor for tests, edited by what stands in it instead of by positions."""

from pathlib import Path
from typing import Any

from lsprotocol import types

from tests.dlsp.editor import CODECS, WIDTH, Editor


class Place:
    """A document as the editor has it."""

    def __init__(self, editor: Editor, file: Path) -> None:
        self.editor, self.uri, self.text = editor, file.as_uri(), file.read_text()
        editor.open(self.uri, self.text)

    def replace(self, old: str, new: str) -> None:
        """As the user does, at the first place."""
        start = self.text.index(old)
        self.change(self._position(start), self._position(start + len(old)), new)

    def change(self, start: Any, end: Any, new: str) -> None:
        self.editor.versions[self.uri] += 1
        span = types.Range(types.Position(start.line, start.character), types.Position(end.line, end.character))
        self.editor.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.editor.versions[self.uri], self.uri),
                [types.TextDocumentContentChangePartial(span, new)],
            )
        )
        self.text = self.text[: self.offset(start)] + new + self.text[self.offset(end) :]

    def held(self, span: Any) -> str:
        return self.text[self.offset(span.start) : self.offset(span.end)]

    def offset(self, place: Any) -> int:
        codec, width = CODECS[self.editor.encoding], WIDTH[self.editor.encoding]
        lines = self.text.split("\n")
        line = lines[place.line].encode(codec)[: place.character * width].decode(codec)
        return sum(len(each) + 1 for each in lines[: place.line]) + len(line)

    def _position(self, offset: int) -> types.Position:
        codec, width = CODECS[self.editor.encoding], WIDTH[self.editor.encoding]
        row, start = self.text.count("\n", 0, offset), self.text.rfind("\n", 0, offset) + 1
        return types.Position(row, len(self.text[start:offset].encode(codec)) // width)
