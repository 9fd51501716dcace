"""The text range that a function's body replaces."""

import re
from dataclasses import dataclass
from itertools import accumulate

from dlsp.function.definition import AFTER_BODY, MAX_LINES_ABOVE, Head, closes, head_of, indent, last_of
from dlsp.function.placeholder import COMMENT, PLACEHOLDER, does_nothing, kept

TODO = re.compile(COMMENT.pattern + r".*\b(?:TODO|FIXME)\b")
NO_FUNCTION = "Put the cursor on a function without a body, or select lines."


@dataclass(frozen=True)
class Gap:
    """The range of a body, as offsets into the text; `lead` is inserted before the body and `tail` after it."""

    start: int
    end: int
    lead: str
    tail: str


def gap(text: str, offset: int) -> Gap | None:
    """The gap of the innermost function at `offset`; None if there is no function or it already has a body.

    `text` has `\\n` line endings. A docstring and comments at the start of the body are kept.
    """
    lines = text.split("\n")
    at = text.count("\n", 0, offset)
    for number in range(at, max(-1, at - MAX_LINES_ABOVE), -1):
        head = head_of(lines, number)
        if head and at <= (last := last_of(lines, head)):
            return _of_function(lines, head, last, at) or (_of_todo(lines, at) if at > head.last else None)
    return None


def selected(text: str, start: int, end: int) -> Gap | None:
    """The gap of the whole lines between two offsets, which are rewritten; None unless they are in one
    function's body."""
    lines = text.split("\n")
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    last -= last > first and text[end - 1] == "\n"
    for number in range(first - 1, max(-1, first - MAX_LINES_ABOVE), -1):
        head = head_of(lines, number)
        if head and head.last < first and last <= last_of(lines, head):
            marker = next((line for line in lines[first : last + 1] if line.strip()), "")
            is_end = closes(lines[last]) and len(indent(lines[last])) <= len(indent(lines[number]))
            if not marker or is_end:
                return None
            starts = _starts(lines)
            return Gap(starts[first] - 1, starts[last] + len(lines[last]), "\n" + indent(marker), "")
    return None


def _of_function(lines: list[str], head: Head, last: int, at: int) -> Gap | None:
    floor, inline = indent(lines[head.first]), lines[head.last][head.column :]
    is_closed = bool(head.closer) and closes(lines[last]) and last > head.last
    first, end = head.last + 1, last - 1 if is_closed else last
    while end > head.last and not lines[end].strip():
        end -= 1
    if end == head.last < len(lines) - 1 and not lines[first].strip() and (is_closed or at == first or lines[first]):
        end = first  # the empty line on which the body is to be written
    keep = kept(lines, first, end)
    is_comment = COMMENT.match(inline)
    if not (is_comment or PLACEHOLDER.fullmatch(inline.rstrip(AFTER_BODY))) or not does_nothing(lines[keep : end + 1]):
        return None
    inner = next((indent(line) for line in lines[first : end + 1] if line.strip()), floor + _unit(lines))
    starts = _starts(lines)
    after_head = starts[head.last] + (len(lines[head.last]) if is_comment else head.column)
    start = starts[keep] - 1 if keep > first else after_head
    tail = ""
    if head.closer and not is_closed:
        closer = inline[len(inline.rstrip(AFTER_BODY)) :].strip() if head.closer == "}" else ""
        tail = "\n" + floor + (closer or head.closer)
    return Gap(start, max(start, starts[end] + len(lines[end])), "\n" + inner, tail)


def _of_todo(lines: list[str], at: int) -> Gap | None:
    """The gap below a TODO comment among statements; None if the line has no TODO."""
    if not TODO.match(lines[at]):
        return None
    end = _starts(lines)[at] + len(lines[at])
    return Gap(end, end, "\n" + indent(lines[at]), "")


def _starts(lines: list[str]) -> list[int]:
    """The offset of each line."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def _unit(lines: list[str]) -> str:
    """One indentation level of the file; comment lines such as ` * text` are ignored, as they may be indented
    differently."""
    code = (line for line in lines if line.strip() and not COMMENT.match(line))
    return next((found for line in code if (found := indent(line))), "    ")
