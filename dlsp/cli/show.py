"""Suggestions in a terminal: in place and dim, as an editor shows them."""

from typing import Any

from rich.text import Text

LINES_AROUND = 4
GHOST = "dim italic green"


def excerpt(before: str, suggestion: str, after: str, around: int = LINES_AROUND) -> Text:
    """The lines around the cursor, numbered, with the suggestion in place."""
    above, below = _plain(before).split("\n"), _plain(after).split("\n")
    hidden = max(0, len(above) - 1 - around)
    text = Text("\n".join(above[hidden:]))
    text.append(_plain(suggestion), style=GHOST)
    text.append("\n".join(below[: around + 1]))
    lines = text.split("\n", allow_blank=True)
    width = len(str(hidden + len(lines)))
    numbered = (Text.assemble((f"{number:{width}} │ ", "dim"), line) for number, line in enumerate(lines, hidden + 1))
    return Text("\n").join(numbered)


def cost_line(mode: str, cost: dict[str, Any]) -> str:
    """What a suggestion cost, in one line; the times in milliseconds."""
    times = {name: cost[f"{name}_ms"] for name in ("queue", "prefill", "decode")}
    phases = ", ".join(f"{name} {ms:.0f}" for name, ms in times.items())
    return (
        f"{mode} · {cost['tokens']} tokens in {cost['forwards']} forwards, tau {cost['tau']:.2f} · "
        f"{sum(times.values()):.0f} ms ({phases})"
    )


def _plain(text: str) -> str:
    """With `\\n` at the line ends, and nothing that would steer the terminal."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)
    return "".join(char if char.isprintable() or char == "\n" else "·" for char in lines)
