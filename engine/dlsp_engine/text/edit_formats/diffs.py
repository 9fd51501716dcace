"""Hunks of unified diffs: their old and new lines, for formats that show edits in another form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dlsp_engine.text.prompt import File

_HEAD = re.compile(r"@@ (?:-\d+(?:,\d+)? \+(\d+)(?:,\d+)? )?@@")


@dataclass(frozen=True)
class Hunk:
    """Lines of the file `path` before and after an edit. `row` is the number of the first one after it, counted from
    1, or None if the diff does not say it. Each line is without its line break.
    """

    path: str
    row: int | None
    old: tuple[str, ...]
    new: tuple[str, ...]


def hunks(diff: File, around: int) -> Iterator[Hunk]:
    """Yield the hunks of a diff, with at most `around` unchanged lines on each side of what they change."""
    path = diff.path
    head, *hunked = re.split(r"^(?=@@)", diff.text, flags=re.MULTILINE)
    for line in head.split("\n"):
        path = line[4:].removeprefix("b/") if line.startswith("+++ ") else path
    for each in hunked:
        first, *lines = each.removesuffix("\n").split("\n")
        found = _HEAD.match(first)
        row = int(found[1]) if found and found[1] else None
        yield _hunk(path, row, [line or " " for line in lines], around)


def _hunk(path: str, row: int | None, lines: list[str], around: int) -> Hunk:
    changed = [at for at, line in enumerate(lines) if line[0] in "+-"] or [0]
    first, last = max(0, changed[0] - around), changed[-1] + 1 + around
    row = None if row is None else row + first
    shown = lines[first:last]
    return Hunk(
        path,
        row,
        tuple(line[1:] for line in shown if line[0] != "+"),
        tuple(line[1:] for line in shown if line[0] != "-"),
    )
