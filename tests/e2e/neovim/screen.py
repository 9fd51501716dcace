"""What a Neovim draws, as text: a user interface that only remembers."""

from collections.abc import Callable
from typing import Any


class Screen:
    """`lines()` is the screen as it was drawn last; `drawn(at)` is called after each time, with when it came.

    `cells` are texts and the numbers of their highlights, which `highlights` has as Neovim's `hl_attr_define`;
    0 is the default, `colors` its foreground and background as 0xRRGGBB. `cursor` is a row and a column from 0.
    """

    def __init__(self, drawn: Callable[[float], None] = lambda at: None) -> None:
        self.drawn = drawn
        self.cells: list[list[tuple[str, int]]] = []
        self.highlights: dict[int, dict[str, Any]] = {0: {}}
        self.colors = (0xFFFFFF, 0)
        self.cursor = (0, 0)
        self.mode = "normal"

    def lines(self) -> list[str]:
        """Without white space at the lines' ends."""
        return ["".join(text for text, _ in row).rstrip() for row in list(self.cells)]

    def redraw(self, at: float, events: list[Any]) -> None:
        """Take a batch of `redraw` events (ext_linegrid)."""
        for name, *calls in events:
            if draw := getattr(self, f"_{name}", None):
                for arguments in calls:
                    draw(*arguments)
            if name == "flush":
                self.drawn(at)

    def _default_colors_set(self, foreground: int, background: int, *_: Any) -> None:
        self.colors = (foreground, background)

    def _hl_attr_define(self, number: int, highlight: dict[str, Any], *_: Any) -> None:
        self.highlights[number] = highlight

    def _mode_change(self, mode: str, _: int) -> None:
        self.mode = mode

    def _grid_cursor_goto(self, grid: int, row: int, column: int) -> None:
        self.cursor = (row, column)

    def _grid_resize(self, grid: int, width: int, height: int) -> None:
        self.cells = [[(" ", 0)] * width for _ in range(height)]

    def _grid_clear(self, grid: int) -> None:
        self.cells = [[(" ", 0)] * len(row) for row in self.cells]

    def _grid_line(self, grid: int, row: int, column: int, cells: list[Any], *_: Any) -> None:
        highlight = 0
        for text, *more in cells:
            highlight = more[0] if more else highlight
            times = more[1] if len(more) > 1 else 1
            self.cells[row][column : column + times] = [(text, highlight)] * times
            column += times

    def _grid_scroll(self, grid: int, top: int, bottom: int, left: int, right: int, rows: int, _: int) -> None:
        lines = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for row in lines:
            self.cells[row][left:right] = self.cells[row + rows][left:right]
