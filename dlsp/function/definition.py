"""Where a definition's body begins, and where the function ends."""

import re
from dataclasses import dataclass

from dlsp.function.placeholder import PLACEHOLDER
from dlsp.syntax.brackets import CLOSERS, OPENERS, code

COLON = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+\w+")
BRACE = re.compile(
    r"[ \t]*(?!(?:\}[ \t]*)?(?:if|for|while|switch|else|try|catch|do|with|class|struct|enum|namespace|match|foreach"
    r"|using|lock|synchronized)\b)\S"
)
WORD = re.compile(
    r"[ \t]*(?:local[ \t]+)?function\b.*\)[ \t]*(?:--.*)?$|[ \t]*def[ \t]+[\w.]+[?!]?(?:[ \t]*\(.*\))?[ \t]*(?:#.*)?$"
)
# Characters that may follow the body on its line.
AFTER_BODY = "}; \t,"
# Lines above the cursor that are searched for the definition.
MAX_LINES_ABOVE = 400
# The most lines of a definition's header, and the most characters of each.
MAX_HEAD_LINES, MAX_LINE_CHARACTERS = 40, 2_000


@dataclass(frozen=True)
class Head:
    """The header of a definition: it starts on row `first`, and its body begins after the colon or brace, at `column`
    of row `last`. `closer` ends the body; it is "" if indentation alone does."""

    first: int
    last: int
    column: int
    closer: str


def head_of(lines: list[str], number: int) -> Head | None:
    """The definition that begins on line `number`; None if none does."""
    line = lines[number]
    if _ends_by_word(lines, number):
        return Head(number, number, len(line), "end")
    if COLON.match(line):
        place = _opened(lines, number, ":")
        return Head(number, *place, "") if place else None
    place = _opened(lines, number, "{") if "(" in line and BRACE.match(line) else None
    return Head(number, *place, "}") if place else None


def last_of(lines: list[str], head: Head) -> int:
    """The last line of the function: its closing line, or the last one indented deeper than its header.

    A blank line right below a bare header counts too, because a cursor on it means that function.
    """
    floor, last = indent(lines[head.first]), head.last
    for row in range(head.last + 1, len(lines)):
        line = lines[row]
        if line.strip() and len(indent(line)) <= len(floor):
            last = row if closes(line) and indent(line) == floor else last
            break
        last = row if line.strip() else last
    blank_below = last + 1 < len(lines) and not lines[last + 1].strip()
    return last + 1 if blank_below and not closes(lines[last]) else last


def end(before: str, after: str) -> str | None:
    """The part of `after` that closes the functions around the cursor: the rest of its line and closing lines.

    None if a statement of theirs follows, or the cursor is outside of functions.
    """
    above, below = (
        before.rsplit("\n", MAX_LINES_ABOVE)[-MAX_LINES_ABOVE:],
        after.split("\n", MAX_LINES_ABOVE)[:MAX_LINES_ABOVE],
    )
    at, floor = len(above) - 1, len(indent(above[-1]))
    # The cursor's line counts as non-blank, so that it belongs to the function above it.
    lines = [*above[:-1], indent(above[-1]) + "x", *below[1:]]
    last = None
    for number in range(at - 1, -1, -1):
        if floor == 0:
            break
        line = lines[number]
        if not line.strip() or line.lstrip()[0] in (*CLOSERS, "{") or len(indent(line)) >= floor:
            continue
        floor, head = len(indent(line)), head_of(lines, number)
        if head and head.last < at <= (own := last_of(lines, head)):
            last = max(own, last or 0)
    if last is None or any(line.strip() and not closes(line) for line in lines[at + 1 : last + 1]):
        return None
    closing = "\n".join(below[: last - at + 1])
    return closing.rstrip() + "\n" if closing.strip() else ""


def closes(line: str) -> bool:
    return line.strip().startswith("}") or line.strip() == "end"


def indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _ends_by_word(lines: list[str], number: int) -> bool:
    """Whether the definition on this line belongs to a language whose blocks end with `end`."""
    found = WORD.match(lines[number])
    if found and "function" in found[0]:
        return not _below(lines, number, indent(lines[number]))
    return bool(found) and any(line.strip() == "end" for line in lines)


def _opened(lines: list[str], number: int, opener: str) -> tuple[int, int] | None:
    """Row and column after the colon or the last brace that opens the definition's body; None if there is none."""
    depth = 0
    for row in range(number, min(number + MAX_HEAD_LINES, len(lines))):
        if len(lines[row]) > MAX_LINE_CHARACTERS:
            return None
        bare, found = code(lines[row]), 0
        for column, char in enumerate(bare, 1):
            if depth <= 0 and char == opener and not (found and opener == ":"):
                found = column
            depth += (char in OPENERS) - (char in CLOSERS)
        if found:
            return (row, found) if opener == ":" or PLACEHOLDER.fullmatch(bare[found:].rstrip(AFTER_BODY)) else None
        if depth <= 0:
            is_over = opener == ":" or bare.rstrip().endswith((";", ","))
            return None if is_over else _below(lines, row, indent(lines[number]))
    return None


def _below(lines: list[str], row: int, floor: str) -> tuple[int, int] | None:
    """The opening brace on its own line below a header that may continue on deeper lines or with Rust's `where`; else
    None."""
    for below in range(row + 1, min(row + MAX_HEAD_LINES, len(lines))):
        line = lines[below].rstrip()
        if line == floor + "{":
            return below, len(line)
        if line.strip() != "where" and len(indent(line)) <= len(floor):
            break
    return None
