"""What a Neovim draws, as text: a user interface that only remembers."""

from collections.abc import Callable
from typing import Any


class Screen:
    """`lines()` is the screen as it was drawn last; `drawn(at)` is called after each time, with when it came."""

    def __init__(self, drawn: Callable[[float], None] = lambda at: None) -> None:
        self.drawn = drawn
        self._cells: list[list[str]] = []

    def lines(self) -> list[str]:
        """Without white space at the lines' ends."""
        return ["".join(row).rstrip() for row in list(self._cells)]

    def redraw(self, at: float, events: list[Any]) -> None:
        """Take a batch of `redraw` events (ext_linegrid)."""
        for name, *calls in events:
            if draw := getattr(self, f"_{name}", None):
                for arguments in calls:
                    draw(*arguments)
            if name == "flush":
                self.drawn(at)

    def _grid_resize(self, grid: int, width: int, height: int) -> None:
        self._cells = [[" "] * width for _ in range(height)]

    def _grid_clear(self, grid: int) -> None:
        self._cells = [[" "] * len(row) for row in self._cells]

    def _grid_line(self, grid: int, row: int, column: int, cells: list[Any], *_: Any) -> None:
        for text, *more in cells:
            times = more[1] if len(more) > 1 else 1
            self._cells[row][column : column + times] = [text] * times
            column += times

    def _grid_scroll(self, grid: int, top: int, bottom: int, left: int, right: int, rows: int, _: int) -> None:
        lines = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in lines:
            self._cells[row][left:right] = self._cells[row + rows][left:right]
