"""What a report is made of: sections with text, tables and plots."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Table:
    """Cells are short texts; the best of a column is given as `**text**`. `measured` says on what and how."""

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    measured: str
    title: str = ""

    def markdown(self) -> str:
        lines = [_row(self.heading), "|---|" + "---:|" * (len(self.heading) - 1), *map(_row, self.rows)]
        title = f"**{self.title}**\n\n" if self.title else ""
        return f"{title}" + "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in (cell.replace("|", "\\|") for cell in cells))


@dataclass(frozen=True)
class Plot:
    """`name` is the file's; `says` describes it to who cannot see it."""

    name: str
    figure: "Figure"
    says: str
    measured: str


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    text: str
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()
    notes: Sequence[str] = field(default_factory=tuple)


def percent(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{100 * value:.{digits}f}%"


def number(value: float | None, digits: int = 1) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def best(cells: Sequence[str], values: Sequence[float | None], least: bool) -> list[str]:
    """The cells, the best value's marked; the first of equals."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return list(cells)
    winner = min(known) if least else max(known)
    at = list(values).index(winner)
    return [f"**{cell}**" if index == at else cell for index, cell in enumerate(cells)]
