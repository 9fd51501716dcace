"""Decides whether a licence is permissive, and finds a package's licence in its metadata or in a licence's text."""

import re
from collections import deque
from collections.abc import Iterable, Sequence

_PERMISSIVE = re.compile(
    r"\b(mit|expat|x11|0?bsd|apache|asl|isc|zlib|libpng|psf|python|unlicense|cc0|bsl|boost|postgresql|ncsa"
    r"|public[ -]domain|hpnd|curl|blueoak|zpl|zope|cnri|ntp|unicode)"
)
_RESTRICTIVE = re.compile(
    r"\b([la]?gpl|affero|lesser|general public|mpl|mozilla|epl|eclipse|cddl|cecill|eupl|sspl|busl|osl|ofl|qpl"
    r"|gfdl|ms-pl|artistic|proprietary|commercial|non-?commercial|elastic|polyform|business|commons|cc[ -]by"
    r"|creative|eula|all rights reserved|other)"
)

# The first phrase found names the licence, so restrictive licences come first.
_TEXTS = (
    ("commons clause", "Commons-Clause"),
    ("gnu affero general public license", "AGPL"),
    ("gnu lesser general public license", "LGPL"),
    ("gnu library general public license", "LGPL"),
    ("gnu general public license", "GPL"),
    ("mozilla public license", "MPL"),
    ("eclipse public license", "EPL"),
    ("business source license", "BUSL"),
    ("permission is hereby granted, free of charge", "MIT"),
    ("redistribution and use in source and binary forms", "BSD"),
    ("apache license", "Apache-2.0"),
    ("permission to use, copy, modify, and", "ISC"),
    ("this software is provided 'as-is'", "Zlib"),
    ("free and unencumbered software released into the public domain", "Unlicense"),
    ("python software foundation license", "PSF-2.0"),
    ("cc0 1.0 universal", "CC0-1.0"),
    ("boost software license", "BSL-1.0"),
)
_TEXT_HEAD = 4_000
_LONGEST_EXPRESSION = 200


def permissive(expression: str) -> bool:
    """Whether a licence expression is permissive: of `or` one side must be, of `and` both."""
    parts = re.split(r"(\(|\)|\band\b|\bor\b)", expression.lower())
    queue = deque(part.strip() for part in parts if part.strip())
    return bool(queue) and _any(queue)


def _any(queue: deque[str]) -> bool:
    result = _all(queue)
    while queue and queue[0] == "or":
        queue.popleft()
        result = _all(queue) or result
    return result


def _all(queue: deque[str]) -> bool:
    result = True
    while queue and queue[0] not in ("or", ")"):
        if queue[0] == "and":
            queue.popleft()
        else:
            result = _one(queue) and result
    return result


def _one(queue: deque[str]) -> bool:
    part = queue.popleft()
    if part == "(":
        result = _any(queue)
        if queue and queue[0] == ")":
            queue.popleft()
        return result
    return bool(_PERMISSIVE.search(part)) and not _RESTRICTIVE.search(part)


def from_text(text: str) -> str:
    """Return the name of the licence whose text this is; empty if it is none that we know."""
    head = " ".join(text[:_TEXT_HEAD].lower().replace("`", "'").split())
    return next((name for phrase, name in _TEXTS if phrase in head), "")


def from_metadata(expression: str, classifiers: Iterable[str], field: str, texts: Sequence[str]) -> str:
    """Return a package's licence: its licence expression, else its classifiers, else its licence field, else the first
    licence text that we know.
    """
    if expression:
        return expression
    named = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License :: ")]
    named = [name for name in named if name != "OSI Approved"]
    if named:
        return " AND ".join(named)
    if field and len(field) <= _LONGEST_EXPRESSION and "unknown" not in field.lower():
        return " ".join(field.split())
    return next(filter(None, map(from_text, [field, *texts])), "")
