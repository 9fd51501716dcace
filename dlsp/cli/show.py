"""Suggestions in a terminal: in place and dim, as an editor shows them."""

from typing import Any

from rich.text import Text

from dlsp.completions.filters.text import with_newlines

PHASES = ("queue", "prefill", "decode")
LINES_AROUND = 4
# Terminal rows that the text before, or after, the suggestion takes at most on its line.
MAX_ROWS_BESIDE = 3
GHOST = "dim italic green"
# Around a suggestion where no style is shown: in a pipe, and on a terminal that has none.
MARKS = ("«", "»")


def excerpt(
    before: str,
    suggestion: str,
    after: str,
    around: int = LINES_AROUND,
    *,
    width: int = 80,
    marks: tuple[str, str] = ("", ""),
) -> Text:
    """The lines around the cursor, numbered, with the suggestion in place between `marks`; long lines are cropped to
    some rows of `width`.
    """
    *above, left = _lines(before)
    right, *below = _lines(after)
    most = MAX_ROWS_BESIDE * width
    hidden = max(0, len(above) - around)
    text = Text("\n".join(_head(line, most) for line in [*above[hidden:], ""]))
    text.append(_tail(left, most))
    text.append(_plain("\n".join(_lines(suggestion))).join(marks) if suggestion else "", style=GHOST)
    text.append("\n".join(_head(line, most) for line in [right, *below[:around]]))
    lines = text.split("\n", allow_blank=True)
    digits = len(str(hidden + len(lines)))
    numbered = (Text.assemble((f"{number:{digits}} │ ", "dim"), line) for number, line in enumerate(lines, hidden + 1))
    return Text("\n").join(numbered)


def time_line(cost: dict[str, Any]) -> str:
    """How long a suggestion took, in seconds, waiting included."""
    return f"{sum(cost[f'{name}_ms'] for name in PHASES) / 1e3:.1f} s"


def cost_line(mode: str, cost: dict[str, Any]) -> str:
    """What a suggestion cost, in one line; the times in milliseconds."""
    times = {name: cost[f"{name}_ms"] for name in PHASES}
    phases = ", ".join(f"{name} {ms:.0f}" for name, ms in times.items())
    return (
        f"{mode} · {cost['tokens']} tokens in {cost['forwards']} forwards, tau {cost['tau']:.2f} · "
        f"{sum(times.values()):.0f} ms ({phases})"
    )


def _lines(text: str) -> list[str]:
    return with_newlines(text).split("\n")


def _head(line: str, most: int) -> str:
    return _plain(line[:most]) + "…" * (len(line) > most)


def _tail(line: str, most: int) -> str:
    return "…" * (len(line) > most) + _plain(line[-most:])


def _plain(text: str) -> str:
    """Without what would steer the terminal, line ends left."""
    return "".join(char if char.isprintable() or char == "\n" else "·" for char in text.expandtabs(4))
