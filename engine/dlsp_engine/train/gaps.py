"""Gaps cut from source text, of the kinds that people leave: what is trained on and what is measured."""

import random
import re

ENDS = {"rest": "line", "line": "line", "block": "block", "body": "body", "span": "token"}
"""Kind -> the engine's rule that ends such a gap."""

_DEFINITION = re.compile(
    r"^[ \t]*(?:[\w*&<>:,~]+[ \t]+)*?(?:def|class|fn|func|function)\b[^\n]*|^[^\n]*\)[^\n;]*\{[ \t]*$"
)

Span = tuple[int, int]
"""First character of the gap, and the first behind it."""


def cut(text: str, kind: str, rng: random.Random) -> Span | None:
    """A gap of this kind somewhere in `text`; None where the place drawn allows none."""
    if kind == "span":
        start = rng.randrange(1, max(2, len(text)))
        return _worth(text, start, min(len(text), start + 1 + int(rng.expovariate(1 / 150))))
    lines = text.splitlines(keepends=True)
    if len(lines) < 4:
        return None
    at = rng.randrange(1, len(lines) - 1)
    start = sum(map(len, lines[:at]))
    if kind == "body":
        return _body(text, lines, at, start)
    line = lines[at].rstrip("\r\n")
    indent = len(line) - len(line.lstrip())
    if kind == "rest":
        return _worth(text, start + rng.randint(indent, max(indent, len(line) - 1)), start + len(line))
    first = start + rng.choice((0, indent, indent))  # mostly the editor has indented already
    if kind == "line":
        return _worth(text, first, start + len(lines[at] if first == start else line))
    deep = at + 1
    most = min(len(lines), at + rng.randint(1, 12))
    while deep < most and (not lines[deep].strip() or _indent(lines[deep]) >= indent):
        deep += 1
    return _worth(text, first, start + len("".join(lines[at:deep]).rstrip()))


def _body(text: str, lines: list[str], at: int, start: int) -> Span | None:
    """The indented lines under the first definition from line `at` on."""
    while at < len(lines) - 1 and not _DEFINITION.match(lines[at].rstrip("\r\n")):
        start += len(lines[at])
        at += 1
    floor = _indent(lines[at])
    start += len(lines[at])
    deep = at = at + 1
    while deep < len(lines) and (not lines[deep].strip() or _indent(lines[deep]) > floor):
        deep += 1
    body = "".join(lines[at:deep]).rstrip()
    return _worth(text, start + len(body) - len(body.lstrip()), start + len(body))


def _indent(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip())


def _worth(text: str, start: int, end: int) -> Span | None:
    return (start, end) if text[start:end].strip() else None
