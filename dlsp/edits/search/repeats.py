"""Places where the very lines that were edited stand once more, or the very lines between which something was put."""

import math
from collections.abc import Iterator, Sequence

from dlsp.edits.history.edit import Edit
from dlsp.edits.search.page import Page, Site, in_time

# Log odds, as counted in the training edits.
SAME_LINES_ODDS, SAME_PLACE_ODDS, ONE_LINE_ODDS = 1.5, 1.8, 0.9
# Characters that lines must have for their coming repeated to mean something.
MIN_TELLING_CHARACTERS = 12


def repeated(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Site]:
    """Indentation may differ; the lines put there are indented, and end, as the place does. As many as are found
    `until` then."""
    for hunk, (first, last) in zip(edit.hunks, own.edited, strict=True):
        old = edit.before[hunk.start : hunk.end]
        around = own.lines[first - 1 : first] + own.lines[last : last + 1]
        if old:
            yield from _sites(old, old, hunk.lines, SAME_LINES_ODDS, pages, until)
        elif len(around) == 2:
            yield from _sites(around, (), hunk.lines, SAME_PLACE_ODDS, pages, until)
        if len(old) == len(hunk.lines) > 1:
            for line, new in zip(old, hunk.lines, strict=True):
                if line != new:
                    yield from _sites((line,), (line,), (new,), ONE_LINE_ODDS, pages, until)


def _sites(
    wanted: Sequence[str], old: Sequence[str], new: Sequence[str], odds: float, pages: Sequence[Page], until: float
) -> Iterator[Site]:
    """Where the lines `wanted` stand; the `new` ones replace them, or go between them where no `old` ones give way."""
    if len("".join(line.strip() for line in wanted)) < MIN_TELLING_CHARACTERS:
        return
    for page in in_time(pages, until):
        for at in _places([line.strip() for line in wanted], page.lines):
            there = page.lines[at : at + len(wanted)]
            lines = _indented(new, wanted[0], there[0])
            start, end = (at, at + len(old)) if old else (at + 1, at + 1)
            complete = all(line.endswith("\n") for line in (*there, *(lines or ())))
            if lines is not None and complete and not page.is_edited(start, end):
                yield Site(page, start, tuple(page.lines[start:end]), lines, odds)


def _places(wanted: Sequence[str], lines: Sequence[str]) -> Iterator[int]:
    for at, line in enumerate(lines):
        if line.strip() == wanted[0] and [each.strip() for each in lines[at : at + len(wanted)]] == wanted:
            yield at


def _indented(lines: Sequence[str], model: str, there: str) -> tuple[str, ...] | None:
    """The lines, moved as `there` is against `model`, with its line end; None where they are indented less than
    `model`."""
    was, now = _indent(model), _indent(there)
    if any(line.strip() and not line.startswith(was) for line in lines):
        return None
    moved = (now + line[len(was) :] if line.strip() else line for line in lines)
    end = "\r\n" if there.endswith("\r\n") else "\n"
    return tuple(line.rstrip("\r\n") + end if line.endswith("\n") else line for line in moved)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
