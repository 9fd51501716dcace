"""Cuts gaps from source text, of the kinds that programmers leave, for training and for measurements."""

import random
import re

# Kind of gap -> the rule by which the engine ends it. The kinds are, in this order: the rest of a line; a line; a part
# of a line before a closing bracket or a mark (`;`, `:` or `,`); two to five lines; a block; a body; any span of text.
ENDS = {
    "rest": "line",
    "line": "line",
    "inside": "token",
    "lines": "block",
    "block": "block",
    "body": "body",
    "span": "token",
}

_DEFINITION = re.compile(
    r"^[ \t]*(?:[\w*&<>:,~]+[ \t]+)*?(?:def|class|fn|func|function)\b[^\n]*|^[^\n]*\)[^\n;]*\{[ \t]*$"
)
_COMMENT = ("#", "//", "*", "/*")
_OPENING, _CLOSING = "([{", ")]}"

SPAN_CHARACTERS = (12, 40, 150)  # mean lengths of spans, one of which is drawn
AT_BRACKET = 0.75  # share of gaps inside a line that end at a bracket if there is one; others may end at a mark too
WHOLE_BRACKET = 0.6  # share of gaps before a closing bracket that begin right after its opening one
IN_BLOCK = 0.5  # share that is kept of gaps of several lines that end their block

# First character of the gap, and the first behind it.
Span = tuple[int, int]


def cut(text: str, kind: str, rng: random.Random) -> Span | None:
    """Return a gap of this kind at a random place in `text`; None if the place drawn allows none."""
    if kind == "span":
        start, mean = rng.randrange(1, max(2, len(text))), rng.choice(SPAN_CHARACTERS)
        return _worth(text, start, min(len(text), start + 1 + int(rng.expovariate(1 / mean))))
    lines = text.splitlines(keepends=True)
    if len(lines) < 4:
        return None
    at = rng.randrange(1, len(lines) - 1)
    start = sum(map(len, lines[:at]))
    if kind == "body":
        return _body(text, lines, at, start, rng)
    line = lines[at].rstrip("\r\n")
    indent = len(line) - len(line.lstrip())
    if kind == "inside":
        return _inside(text, line, indent, start, rng)
    if kind == "rest":
        return _worth(text, start + rng.randint(indent, max(indent, len(line) - 1)), start + len(line))
    first = start + rng.choice((0, 0, indent))  # on an empty line the editor has often indented already
    # A gap that begins with the line may include the last line break: the suffix then begins with text.
    broken = first == start and rng.random() < 0.3
    if kind == "line":
        return _worth(text, first, start + len(lines[at] if broken else line))
    deep = _several(lines, at, rng) if kind == "lines" else _block(lines, at, indent, rng)
    if deep is None:
        return None
    middle = "".join(lines[at:deep])
    return _worth(text, first, start + len(middle if broken and kind == "lines" else middle.rstrip()))


def _inside(text: str, line: str, indent: int, start: int, rng: random.Random) -> Span | None:
    """Return a gap inside a line that ends before a closing bracket, or before `;`, `:` or `,`; None if there
    is none.
    """
    if line.lstrip().startswith(_COMMENT):
        return None
    ends = [i for i, c in enumerate(line) if i > indent + 1 and c in f"{_CLOSING};:," and not line[i - 1].isspace()]
    brackets = [i for i in ends if line[i] in _CLOSING]
    if not ends:
        return None
    end = rng.choice(brackets) if brackets and rng.random() < AT_BRACKET else rng.choice(ends)
    first = rng.randint(indent, end - 1)
    if line[end] in _CLOSING and rng.random() < WHOLE_BRACKET:
        opened = _opening(line, end)
        first = first if opened is None else opened + 1
    return _worth(text, start + first, start + end)


def _opening(line: str, end: int) -> int | None:
    """Return the index of the bracket that the one at `end` closes; None if it is not in this line."""
    depth = 0
    for i in range(end - 1, -1, -1):
        if line[i] in _CLOSING:
            depth += 1
        elif line[i] in _OPENING:
            if depth == 0:
                return i
            depth -= 1
    return None


def _several(lines: list[str], at: int, rng: random.Random) -> int | None:
    """Return the index of the line after two to five lines of one block; None if there are too few. Most often the
    block goes on after them.
    """
    own, count = _indent(lines[at]), rng.randint(2, 5)
    deep, taken = at + 1, 1
    while deep < len(lines) and taken < count and (not lines[deep].strip() or _indent(lines[deep]) >= own):
        taken += bool(lines[deep].strip())
        deep += 1
    if taken < 2 or not lines[at].strip():
        return None
    follows = next((line for line in lines[deep:] if line.strip()), "")
    goes_on = bool(follows) and _indent(follows) >= own
    return deep if goes_on or rng.random() < IN_BLOCK else None


def _block(lines: list[str], at: int, indent: int, rng: random.Random) -> int:
    """Return the index of the line after a block of up to twelve lines."""
    deep, most = at + 1, min(len(lines), at + rng.randint(1, 12))
    while deep < most and (not lines[deep].strip() or _indent(lines[deep]) >= indent):
        deep += 1
    return deep


def _body(text: str, lines: list[str], at: int, start: int, rng: random.Random) -> Span | None:
    """Return a gap that holds the indented lines under the first definition from line `at` on, with or without the
    indentation of the first of them.
    """
    while at < len(lines) - 1 and not _DEFINITION.match(lines[at].rstrip("\r\n")):
        start += len(lines[at])
        at += 1
    floor = _indent(lines[at])
    start += len(lines[at])
    deep = at = at + 1
    while deep < len(lines) and (not lines[deep].strip() or _indent(lines[deep]) > floor):
        deep += 1
    body = "".join(lines[at:deep]).rstrip()
    return _worth(text, start + rng.choice((0, len(body) - len(body.lstrip()))), start + len(body))


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _worth(text: str, start: int, end: int) -> Span | None:
    """Return the gap, or None if it has only white space."""
    return (start, end) if text[start:end].strip() else None
