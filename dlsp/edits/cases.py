"""The cases that a name is written in."""

import re
from collections.abc import Iterator

SHORTEST = 3
"""Letters and digits of a name that stands for one thing in all its cases."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def in_cases(old: str, new: str) -> Iterator[tuple[str, str]]:
    """A renamed name and its new one in each case: `Testdir` tells of `testdir` and `TESTDIR`."""
    parts, others = _PARTS.findall(old), _PARTS.findall(new)
    if len("".join(parts)) < SHORTEST or not others:
        return
    for written in (_snake, _upper, _camel, _pascal):
        if written(parts) != written(others):
            yield written(parts), written(others)


def _snake(parts: list[str]) -> str:
    return "_".join(parts).lower()


def _upper(parts: list[str]) -> str:
    return "_".join(parts).upper()


def _pascal(parts: list[str]) -> str:
    return "".join(part[:1].upper() + part[1:].lower() for part in parts)


def _camel(parts: list[str]) -> str:
    pascal = _pascal(parts)
    return pascal[:1].lower() + pascal[1:]
