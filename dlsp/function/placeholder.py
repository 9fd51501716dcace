"""Recognise bodies that do nothing: placeholders, comments and a docstring."""

import re

from dlsp.syntax.brackets import OPENERS, brackets

COMMENT = re.compile(r"\s*(?:#|//|--|/\*|\*)")
PLACEHOLDER = re.compile(
    r"\s*+(?:pass|\.\.\.|raise NotImplementedError\b.*|todo!\(.*\);?|unimplemented!\(.*\);?"
    r"|panic\(.*\)|throw new \w*(?:Error|Exception)\(.*\);?)?\s*+(?:#.*|//.*)?"
)
DOCSTRING = re.compile(r'\s*[rRuU]?("""|\'\'\')')


def unwritten(body: str) -> bool:
    """Whether a body, given on lines of its own, does nothing; the same rule decides whether a function has a gap."""
    lines = body.split("\n")
    return does_nothing(lines[kept(lines, 0, len(lines) - 1) :])


def kept(lines: list[str], first: int, end: int) -> int:
    """The first line after the docstring and comments at the start of the body."""
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


def does_nothing(lines: list[str]) -> bool:
    """Whether all statements on these lines are placeholders; a statement continues while brackets are open."""
    statement, depth = "", 0
    for line in lines:
        depth += sum(1 if char in OPENERS else -1 for _, char in brackets(line))
        statement += line.strip() + " "
        if depth > 0:
            continue
        if not PLACEHOLDER.fullmatch(statement):
            return False
        statement = ""
    return not statement
