"""The body of a function that is still to be written: where it goes, found by indentation and brackets.

A file with a hole in it seldom parses, so this looks at lines alone.
"""

import re
from dataclasses import dataclass

COLON = re.compile(r"[ \t]*(?:async[ \t]+)?def[ \t]+\w+")
BRACE = re.compile(
    r"[ \t]*(?!(?:if|for|while|switch|else|try|catch|do|with|class|struct|enum|namespace|match|foreach|using|lock"
    r"|synchronized)\b)\S"
)
WORD = re.compile(
    r"[ \t]*(?:local[ \t]+)?function\b.*\)[ \t]*(?:--.*)?$|[ \t]*def[ \t]+[\w.]+[?!]?(?:[ \t]*\(.*\))?[ \t]*(?:#.*)?$"
)
TODO = re.compile(r"\s*(?:#|//|--|/\*|\*).*\b(?:TODO|FIXME)\b")
COMMENT = re.compile(r"\s*(?:#|//|--|/\*|\*)")
PLACEHOLDER = re.compile(
    r"\s*+(?:pass|\.\.\.|raise NotImplementedError\b.*|todo!\(.*\);?|unimplemented!\(.*\);?"
    r"|panic\(.*\)|throw new \w*(?:Error|Exception)\(.*\);?)?\s*+(?:#.*|//.*)?"
)
DOCSTRING = re.compile(r'\s*[rRuU]?("""|\'\'\')')
# No string begins at an escaped quote: looked for from each of them, one that is not closed would take seconds.
STRINGS = re.compile(r"(?<!\\)(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|#.*|//.*")
OPEN, CLOSE = "([{", ")]}"
CLOSING = "}; \t,"
"""What may follow the body on its line."""
FARTHEST = 400
"""Lines above the cursor within which the definition is looked for."""
MOST_LINES, LONGEST = 40, 2_000
"""Of a definition without its body: its lines, and the characters of each."""


NO_FUNCTION = "Put the cursor on a function without a body (nothing, `...`, `pass` or a TODO), or select lines of one."


@dataclass(frozen=True)
class Gap:
    """What a body takes the place of, offsets into the text; `lead` comes before the body and `tail` after it."""

    start: int
    end: int
    lead: str
    tail: str


def gap(text: str, offset: int) -> Gap | None:
    """The gap of the innermost function at `offset`, None if there is none or it has a body already.

    Lines end in `\\n`. Comments and a docstring at the body's beginning stay.
    """
    lines = text.split("\n")
    at = text.count("\n", 0, offset)
    for number in range(at, max(-1, at - FARTHEST), -1):
        opened = _opened(lines, number)
        if opened and at <= (last := _last(lines, number, opened[0])):
            return _gap(lines, number, opened, last, at) or (_todo(lines, at) if at > opened[0] else None)
    return None


def selected(text: str, start: int, end: int) -> Gap | None:
    """The whole lines between two offsets, to be written anew; None where they are not of one function's body."""
    lines = text.split("\n")
    first, last = text.count("\n", 0, start), text.count("\n", 0, end)
    last -= last > first and text[end - 1] == "\n"
    for number in range(first - 1, max(-1, first - FARTHEST), -1):
        head = _head(lines, number)
        if head is not None and head < first and last <= _last(lines, number, head):
            starts = _starts(lines)
            told = next((line for line in lines[first : last + 1] if line.strip()), "")
            closes = lines[last].strip() in ("}", "end", "};") and len(_indent(lines[last])) <= len(
                _indent(lines[number])
            )
            if not told or closes:
                return None
            return Gap(starts[first] - 1, starts[last] + len(lines[last]), "\n" + _indent(told), "")
    return None


def end(before: str, after: str) -> str | None:
    """Of `after`, what closes the functions around the cursor: the rest of its line, closing lines. None where a
    statement of theirs follows, and outside of functions.
    """
    above, below = before.rsplit("\n", FARTHEST)[-FARTHEST:], after.split("\n", FARTHEST)[:FARTHEST]
    at, floor = len(above) - 1, len(_indent(above[-1]))
    # The cursor's own line counts as written, so that it belongs to the function above it.
    lines = [*above[:-1], _indent(above[-1]) + "x", *below[1:]]
    last = None
    for number in range(at - 1, -1, -1):
        if floor == 0:
            break
        line = lines[number]
        if not line.strip() or line.lstrip()[0] in CLOSE + "{" or len(_indent(line)) >= floor:
            continue
        floor, head = len(_indent(line)), _head(lines, number)
        if head is not None and head < at <= (own := _last(lines, number, head)):
            last = max(own, last or 0)
    if last is None or any(line.strip() and not _closes(line) for line in lines[at + 1 : last + 1]):
        return None
    closing = "\n".join(below[: last - at + 1])
    return closing.rstrip() + "\n" if closing.strip() else ""


def unwritten(body: str) -> bool:
    """Whether a body, on lines of its own, does nothing: by the rule that makes a gap of a function."""
    lines = body.split("\n")
    return _holds_places(lines[_kept(lines, 0, len(lines) - 1) :])


def _head(lines: list[str], number: int) -> int | None:
    """The last line of the definition that begins on a line, None if none does."""
    opened = _opened(lines, number)
    return opened[0] if opened else None


def _opened(lines: list[str], number: int) -> tuple[int, int] | None:
    """The row and the column where the body of the definition on a line begins: behind its colon, its brace, or a head
    whose body ends with `end`."""
    if _ends_by_word(lines, number):
        return number, len(lines[number])
    colon = COLON.match(lines[number])
    if not colon and not (BRACE.match(lines[number]) and "(" in lines[number]):
        return None
    depth = 0
    for row in range(number, min(number + MOST_LINES, len(lines))):
        if len(lines[row]) > LONGEST:
            return None
        bare, found = STRINGS.sub(lambda string: " " * len(string[0]), lines[row]), 0
        for column, char in enumerate(bare, 1):
            if depth <= 0 and char == (":" if colon else "{"):
                found = column
                if colon:
                    break
            depth += (char in OPEN) - (char in CLOSE)
        if found:
            return (row, found) if colon or PLACEHOLDER.fullmatch(bare[found:].rstrip(CLOSING)) else None
        if depth <= 0:
            return None if colon or bare.rstrip().endswith((";", ",")) else _below(lines, row, _indent(lines[number]))
    return None


def _below(lines: list[str], row: int, floor: str) -> tuple[int, int] | None:
    """The brace on a line of its own below a head, where deeper lines (and Rust's `where`) go on with the head."""
    for below in range(row + 1, min(row + MOST_LINES, len(lines))):
        line = lines[below].rstrip()
        if line == floor + "{":
            return below, len(line)
        if line.strip() != "where" and len(_indent(line)) <= len(floor):
            break
    return None


def _ends_by_word(lines: list[str], number: int) -> bool:
    """Whether the definition on a line is of a language whose blocks end with `end`."""
    found = WORD.match(lines[number])
    return bool(found) and ("function" in found[0] or any(line.strip() == "end" for line in lines))


def _last(lines: list[str], number: int, head: int) -> int:
    """The last line that belongs to the function: indented deeper than it, or blank with such a line to come."""
    floor, last = _indent(lines[number]), head
    for end in range(head + 1, len(lines)):
        line = lines[end]
        if line.strip() and len(_indent(line)) <= len(floor):
            if _closes(line) and line.startswith(floor):
                last = end
            break
        if line.strip():
            last = end
    blank = last
    while blank + 1 < len(lines) and not lines[blank + 1].strip() and blank == last:
        blank += 1  # a cursor on the empty line under a bare definition is meant too
    return last if _closes(lines[last]) else blank


def _gap(lines: list[str], number: int, opened: tuple[int, int], last: int, at: int) -> Gap | None:
    floor, (head, column) = _indent(lines[number]), opened
    word = _ends_by_word(lines, number)
    inline, brace = lines[head][column:], not word and lines[head][column - 1] == "{"
    closing = (brace or word) and _closes(lines[last]) and last > head
    first, end = head + 1, last - 1 if closing else last
    while end > head and not lines[end].strip():
        end -= 1
    if end == head < len(lines) - 1 and not lines[first].strip() and (closing or at == first or lines[first]):
        end = first  # the empty line that the body is to be written on
    keep = _kept(lines, first, end)
    if not _holds_places(lines[keep : end + 1]):
        return None
    if not (COMMENT.match(inline) or PLACEHOLDER.fullmatch(inline.rstrip(CLOSING) if brace else inline)):
        return None
    inner = next((_indent(line) for line in lines[first : end + 1] if line.strip()), floor + _unit(lines))
    starts = _starts(lines)
    after_head = starts[head] + (len(lines[head]) if COMMENT.match(inline) else column)
    start = starts[keep] - 1 if keep > first else after_head
    stop = starts[end] + len(lines[end])
    tail = ""
    if (brace or word) and not closing:
        closer = "end" if word else inline[len(inline.rstrip(CLOSING)) :].strip() or "}"
        stop, tail = (stop if inline.strip() else max(start, stop)), "\n" + floor + closer
    return Gap(start, max(start, stop), "\n" + inner, tail)


def _kept(lines: list[str], first: int, end: int) -> int:
    """The first line after the docstring and the comments that the body begins with."""
    at = first
    if at <= end and (quote := DOCSTRING.match(lines[at])):
        rest = lines[at][quote.end() :]
        while quote[1] not in rest and at < end:
            at += 1
            rest = lines[at]
        at += 1
    while at <= end and COMMENT.match(lines[at]):
        at += 1
    return at


def _holds_places(lines: list[str]) -> bool:
    """Whether all statements on these lines are placeholders; brackets that are open go on with the next line."""
    statement, depth = "", 0
    for line in lines:
        bare = STRINGS.sub("", line)
        depth += sum(bare.count(each) for each in OPEN) - sum(bare.count(each) for each in CLOSE)
        statement += line.strip() + " "
        if depth > 0:
            continue
        if not PLACEHOLDER.fullmatch(statement):
            return False
        statement = ""
    return not statement


def _todo(lines: list[str], at: int) -> Gap | None:
    """After a TODO among statements: what it asks for."""
    if not TODO.match(lines[at]):
        return None
    end = _starts(lines)[at] + len(lines[at])
    return Gap(end, end, "\n" + _indent(lines[at]), "")


def _closes(line: str) -> bool:
    return line.strip().startswith("}") or line.strip() == "end"


def _starts(lines: list[str]) -> list[int]:
    """Where each line begins."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _unit(lines: list[str]) -> str:
    """One level of indentation, as the file has it."""
    return next((found for line in lines if line.strip() and (found := _indent(line))), "    ")
