"""Show suggestions in a terminal: inline and dimmed, like ghost text in an editor."""

from typing import Any

from rich.text import Text

from dlsp.completions.filters.text import with_newlines

PHASES = ("queue", "prefill", "decode")
LINES_AROUND = 4
# The most terminal rows shown of the text before, and of the text after, the suggestion on its line.
MAX_ROWS_BESIDE = 3
GHOST = "dim italic green"
# Marks around a suggestion where styles cannot be shown: in a pipe, or on a terminal without styles.
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
    """The numbered lines around the cursor, with the suggestion inserted between `marks`.

    Lines longer than MAX_ROWS_BESIDE rows of `width` columns are cropped.
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
    """The time a suggestion took, in seconds, including the wait in the engine's queue."""
    return f"{sum(cost[f'{name}_ms'] for name in PHASES) / 1e3:.1f} s"


def cost_line(mode: str, cost: dict[str, Any]) -> str:
    """The cost of a suggestion in one line; times in milliseconds."""
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
    """The text with control characters replaced, so that it cannot steer the terminal; line ends are kept."""
    return "".join(char if char.isprintable() or char == "\n" else "·" for char in text.expandtabs(4))
