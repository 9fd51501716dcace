"""How plots look: restrained, readable on light and dark, a colour for each contender everywhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# As dark on white as it is light on black; pages that inline a plot put their own colour in its place.
INK = "#767676"

COLOURS = {
    "llama.cpp": "#9a9a9a",
    "llama.cpp n-gram": "#b9aa90",
    "llama.cpp 4 slots": "#9a9a9a",
    "transformers": "#b0806a",
    "autoregressive": "#5b8db8",
    "autoregressive n-gram": "#3f6fa8",
    "verified": "#2f9e6e",
    "diffusion": "#c2853a",
    "empty": "#b9b9b9",
}
OTHER = "#8a7fb5"


def colour(name: str) -> str:
    """Of a contender or variant, whatever dtype stands before it or setting behind it."""
    plain = name.split(":")[0]
    for known in sorted(COLOURS, key=len, reverse=True):
        if plain == known or plain.endswith(f" {known}") or plain.startswith(f"{known} "):
            return COLOURS[known]
    return OTHER


@contextmanager
def canvas(
    rows: int = 1, columns: int = 1, width: float = 7.2, height: float = 3.6
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure with so many axes, laid out when the block ends."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "dlsp",  # the same plot is the same file
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.titlecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.linewidth": 0.6,
        "axes.grid": True,
        "grid.color": INK,
        "grid.alpha": 0.18,
        "grid.linewidth": 0.6,
        "xtick.color": INK,
        "ytick.color": INK,
        "legend.frameon": False,
        "legend.labelcolor": INK,
        "lines.linewidth": 1.6,
        "lines.markersize": 4.5,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
    }
    with plt.rc_context(settings):
        figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
        yield figure, [one for row in axes for one in row]
        figure.tight_layout()
        plt.close(figure)


def plain_ticks(values: Sequence[float], axes: Axes) -> None:
    """The values themselves as ticks of a logarithmic x axis."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.minorticks_off()
