"""Convert offsets of a text to LSP positions, by its line starts, which are computed once."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate

from lsprotocol import types

from dlsp.server.documents import LINE


class Positions:
    """Positions in `text`; `units` returns the length of a text in the negotiated encoding."""

    def __init__(self, text: str, units: Callable[[str], int]) -> None:
        self.text, self._units = text, units
        self._starts = list(accumulate(map(len, LINE.findall(text)), initial=0))
        if self._starts[-1] == len(text) and len(self._starts) > 1 and not text.endswith(("\n", "\r")):
            self._starts.pop()  # the end of a last line without an ending does not start another line

    def position(self, offset: int) -> types.Position:
        row = bisect_right(self._starts, offset) - 1
        return types.Position(row, self._units(self.text[self._starts[row] : offset]))

    def offset(self, position: types.Position) -> int | None:
        """The offset of a position; None if the text has no such one."""
        if position.line >= len(self._starts):
            return None
        start, *ends = self._starts[position.line : position.line + 2]
        line = self.text[start : ends[0] if ends else len(self.text)]
        columns = range(len(line) + 1)
        column = bisect_left(columns, position.character, key=lambda column: self._units(line[:column]))
        return start + column if column < len(columns) else None

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))


def as_json(span: types.Range) -> dict[str, dict[str, int]]:
    """A range as JSON."""
    return {
        name: {"line": place.line, "character": place.character}
        for name, place in (("start", span.start), ("end", span.end))
    }
