"""A plain window: the text around the cursor within a budget of characters."""

from typing import NamedTuple

BEFORE = 4000
AFTER = 2000


class Window(NamedTuple):
    """Prefix and suffix of a gap, with `\\n` at the line ends."""

    prefix: str
    suffix: str


def window(before: str, after: str, most_before: int = BEFORE, most_after: int = AFTER) -> Window:
    """The last of `before` and the first of `after`, at most so many characters, cut at line borders.

    A line that alone is longer than the budget is cut inside.
    """
    prefix, suffix = plain(before), plain(after)
    if len(prefix) > most_before:
        kept = prefix[-most_before:]
        starts_line = prefix[-most_before - 1] == "\n"
        border = 0 if starts_line else kept.find("\n") + 1
        prefix = kept[border:] or kept
    if len(suffix) > most_after:
        kept = suffix[:most_after]
        suffix = kept[: kept.rfind("\n") + 1] or kept
    return Window(prefix, suffix)


def plain(text: str) -> str:
    """`text` with `\\n` at the line ends and nothing that UTF-8 cannot carry (lone surrogates)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines.encode("utf-8", "replace").decode("utf-8")
