"""What a run shows at its end."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

COLUMNS = {
    "pass_at_1": ("pass@1", "{:.1%}"),
    "pass_at_1_low": ("from", "{:.1%}"),
    "pass_at_1_high": ("to", "{:.1%}"),
    "exact": ("exact", "{:.1%}"),
    "similarity": ("similar", "{:.3f}"),
    "forwards_per_gap": ("forwards", "{:.1f}"),
    "rows_per_gap": ("rows", "{:.1f}"),
    "tokens_per_gap": ("tokens", "{:.1f}"),
    "tau": ("tau", "{:.2f}"),
    "identical": ("identical", "{:.1%}"),
    "pass_difference": ("points", "{:+.1f}"),
}


def show(title: str, measured: Mapping[str, Mapping[str, float]]) -> None:
    """One line a variant, on standard output."""
    shown = Table(title=title, title_justify="left")
    shown.add_column("variant")
    for heading, _ in COLUMNS.values():
        shown.add_column(heading, justify="right")
    for variant, numbers in measured.items():
        cells = (form.format(numbers[name]) if name in numbers else "" for name, (_, form) in COLUMNS.items())
        shown.add_row(variant, *cells)
    out = Console()
    out.width = max(out.width, 130)
    out.print(shown)
