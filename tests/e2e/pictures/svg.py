"""A terminal's screen as SVG: one picture, or many that follow each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.sax.saxutils import escape

from tests.e2e.neovim.screen import Screen

WIDTH, HEIGHT, SIZE, MARGIN = 8.4, 19, 14, 12
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
# How long the last picture stays before all begins anew.
KEEP_S = 3.0

Row = str


@dataclass(frozen=True)
class Frame:
    """The screen's rows, each as SVG, and the cursor."""

    rows: tuple[Row, ...]
    cursor: tuple[int, int]
    insert: bool


def frame(screen: Screen, rows: int) -> Frame:
    """What a screen shows now in its first `rows`."""
    return Frame(tuple(_row(screen, row) for row in screen.cells[:rows]), screen.cursor, screen.mode == "insert")


def picture(frames: Sequence[tuple[float, Frame]], screen: Screen, columns: int) -> str:
    """Frames, each with the second at which it came, as one picture; it moves if there are several."""
    width, height = columns * WIDTH + 2 * MARGIN, len(frames[0][1].rows) * HEIGHT + 2 * MARGIN
    names = {
        row: f"r{number}" for number, row in enumerate(dict.fromkeys(row for _, each in frames for row in each.rows))
    }
    rows = "".join(f'<g id="{name}">{row}</g>' for row, name in names.items() if row)
    ends = [at for at, _ in frames[1:]] + [frames[-1][0] + KEEP_S]
    total = ends[-1] - frames[0][0]
    style, drawn = [], []
    for number, ((at, each), end) in enumerate(zip(frames, ends, strict=True)):
        uses = "".join(f'<use href="#{names[row]}" y="{line * HEIGHT}"/>' for line, row in enumerate(each.rows) if row)
        if len(frames) > 1:
            start, stop = ((moment - frames[0][0]) / total * 100 for moment in (at, end))
            hidden = f"0%{{opacity:0}}{start:.2f}%{{opacity:1}}" if number else "0%{opacity:1}"
            style.append(f"@keyframes k{number}{{{hidden}{stop:.2f}%{{opacity:0}}100%{{opacity:0}}}}")
            style.append(f".k{number}{{animation:k{number} {total:.2f}s step-end infinite;opacity:0}}")
        drawn.append(f'<g class="k{number}">{uses}{_cursor(each, screen.colors[0])}</g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="{FONT}" font-size="{SIZE}" xml:space="preserve">'
        f"<style>text{{white-space:pre}}{''.join(style)}</style><defs>{rows}</defs>"
        f'<rect width="100%" height="100%" rx="8" fill="{_hex(screen.colors[1])}"/>'
        f'<g transform="translate({MARGIN},{MARGIN})" fill="{_hex(screen.colors[0])}">{"".join(drawn)}</g></svg>\n'
    )


def _row(screen: Screen, cells: Sequence[tuple[str, int]]) -> Row:
    """One row: its backgrounds, then its texts, each run of one highlight stretched to its cells."""
    back, front, column = [], [], 0
    for number, run in groupby(cells, key=lambda cell: cell[1]):
        text = "".join(part for part, _ in list(run))
        wide = len(text)
        style = screen.highlights.get(number, {})
        foreground, background = style.get("foreground"), style.get("background")
        if style.get("reverse"):
            foreground = screen.colors[1] if background is None else background
            background = screen.colors[0] if style.get("foreground") is None else style["foreground"]
        if background is not None:
            size = f'width="{wide * WIDTH:.1f}" height="{HEIGHT}"'
            back.append(f'<rect x="{column * WIDTH:.1f}" {size} fill="{_hex(background)}"/>')
        if text.strip():
            lead = len(text) - len(text.lstrip())
            front.append(_text(text.strip(), column + lead, foreground, style))
        column += wide
    return "".join(back + front)


def _text(text: str, column: int, color: int | None, style: dict[str, Any]) -> str:
    extra = f' fill="{_hex(color)}"' if color is not None else ""
    extra += ' font-weight="bold"' if style.get("bold") else ""
    extra += ' font-style="italic"' if style.get("italic") else ""
    extra += ' text-decoration="line-through"' if style.get("strikethrough") else ""
    place = f'x="{column * WIDTH:.1f}" y="{HEIGHT - 5}" textLength="{len(text) * WIDTH:.1f}"'
    return f"<text {place}{extra}>{escape(text)}</text>"


def _cursor(each: Frame, color: int) -> str:
    row, column = each.cursor
    if row >= len(each.rows):
        return ""
    width, opacity = (2, 1) if each.insert else (WIDTH, 0.5)
    place = f'x="{column * WIDTH:.1f}" y="{row * HEIGHT}" width="{width}" height="{HEIGHT}"'
    return f'<rect {place} fill="{_hex(color)}" opacity="{opacity}"/>'


def _hex(color: int) -> str:
    return f"#{color:06x}"
