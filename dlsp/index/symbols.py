"""From a file to the rows that the index keeps of it."""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from dlsp.ignore.rules import MOST_BYTES
from dlsp.syntax import languages
from dlsp.syntax.definitions import Definition, definitions
from dlsp.syntax.outline import outline
from dlsp.syntax.source import Source

MOST_SYMBOLS = 400
"""Kept of one file, the first ones; more are made by a program."""


class Symbol(NamedTuple):
    """A definition: `parent` is the name of the class it is in, `text` its outline, `row` counts from 0."""

    name: str
    parent: str
    kind: str
    row: int
    text: str


def symbols(path: Path) -> list[Symbol]:
    """The definitions of a file; none if it is no text. Raises OSError if it cannot be read."""
    language = languages.of(path)
    with path.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if language is None or len(content) > MOST_BYTES or b"\0" in content:
        return []
    source = Source(language)
    tree = source.update(content.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
    if tree is None:
        return []
    found = [each for each, _ in zip(definitions(tree, source.bytes, language), range(MOST_SYMBOLS), strict=False)]
    members: defaultdict[int, list[Definition]] = defaultdict(list)
    for each in found:
        if each.parent:
            members[id(each.parent)].append(each)
    return [
        Symbol(
            each.name,
            each.parent.name if each.parent else "",
            each.kind,
            each.row,
            outline(each, members[id(each)], source.bytes, language),
        )
        for each in found
    ]
