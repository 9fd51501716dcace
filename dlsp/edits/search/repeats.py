"""Sites where the edited lines, or the lines around an insertion, occur again."""

import math
from collections.abc import Iterator, Sequence

from dlsp.edits.history.edit import Edit
from dlsp.edits.search.page import Page, Site, in_time

# Log odds, measured on the training edits.
SAME_LINES_ODDS, SAME_PLACE_ODDS, ONE_LINE_ODDS = 1.5, 1.8, 0.9
# The fewest characters that repeated lines must have to be meaningful.
MIN_TELLING_CHARACTERS = 12


def repeated(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Site]:
    """Yield the repetitions of the edited lines, or of the lines around an insertion, until the time `until`.

    Their indentation may differ; the new lines get the indentation and line ends of the place.
    """
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
    """Yield a site for each place where the lines `wanted` occur: `new` replaces `old`, or is inserted if `old` is
    empty."""
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
    """The lines re-indented from the indentation of `model` to that of `there`, with its line end.

    None if a line is indented less than `model`.
    """
    was, now = _indent(model), _indent(there)
    if any(line.strip() and not line.startswith(was) for line in lines):
        return None
    moved = (now + line[len(was) :] if line.strip() else line for line in lines)
    end = "\r\n" if there.endswith("\r\n") else "\n"
    return tuple(line.rstrip("\r\n") + end if line.endswith("\n") else line for line in moved)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
