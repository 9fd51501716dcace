"""A document as sites are looked for in it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath

from dlsp.edits.hunks import lines_of
from dlsp.edits.tokens import Token, tokens
from dlsp.syntax.languages import Language
from dlsp.syntax.source import Source


@dataclass(frozen=True)
class Page:
    """The text of the document `uri`, which the workspace knows as `path`; `edited` are the rows that the edit made."""

    uri: str
    path: str
    text: str
    language: Language | None = None
    edited: tuple[tuple[int, int], ...] = ()

    @property
    def module(self) -> str:
        """How other files name this one, or the folder that it belongs to."""
        path = PurePath(self.path)
        if self.language and self.language.family == "go":
            return path.parent.name or "main"
        return path.parent.name if path.stem in ("__init__", "index", "mod") and path.parent.name else path.stem

    @cached_property
    def lines(self) -> list[str]:
        return lines_of(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and of the text's end."""
        return list(accumulate(map(len, self.lines), initial=0))

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens(self.text, self.source)

    @cached_property
    def source(self) -> Source | None:
        return Source(self.language) if self.language else None

    def row(self, offset: int) -> int:
        return min(bisect_right(self.starts, offset), len(self.lines)) - 1

    def is_edited(self, start: int, end: int) -> bool:
        """Whether rows `start` to `end` touch what the edit made."""
        return any((start < last and first < end) or start == end == first for first, last in self.edited)

    def is_edited_at(self, offset: int) -> bool:
        """Whether the edit made the line of an offset."""
        row = self.row(offset)
        return self.is_edited(row, row + 1)


def token_lines(found: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each line, line ends left out."""
    lines: list[list[Token]] = [[]]
    for token in found:
        if token.text == "\n":
            lines.append([])
        else:
            lines[-1].append(token)
    return lines
