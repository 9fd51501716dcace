"""From a file to the rows that the index keeps of it."""

import re
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dlsp.ignore.reading import read
from dlsp.ignore.rules import MOST_BYTES
from dlsp.ignore.values import without_secrets
from dlsp.syntax import languages
from dlsp.syntax.definitions import Definition, definitions
from dlsp.syntax.languages import Language
from dlsp.syntax.outline import outline
from dlsp.syntax.rehearsal import Rehearsal
from dlsp.syntax.source import Source

# Kept of one file, the first ones; more are made by a program.
MOST_SYMBOLS = 400

_SPACE = re.compile(r"(?:inline\s+)?namespace\b")
# A type that is named only, a file that is part of a module.
_NAMED = re.compile(r"(?:struct|union|enum|class)\s+\w+|(?:pub\b.*\s)?mod\s+\w+;")
_REQUIRED = re.compile(r"\s*(?:local|const|let|var)?\s*[^=]+=\s*require\b")
# In a header of C++ that is named like one of C.
_CPP = re.compile(rb"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|(?:public|private|protected):)", re.MULTILINE)
# Families in which an indented constant outside of classes is a block's own.
_WITH_LOCALS = {"python", "javascript", "ruby", "lua", "bash"}


# A second of the processor's time for a file; on the clock it may be much more, as the index yields to everybody.
_REHEARSAL = Rehearsal(parse_s=1.0, deadline_s=30.0)


class Symbol(NamedTuple):
    """A definition: `parent` is the name of the class it is in, `text` its outline, `row` counts from 0."""

    name: str
    parent: str
    kind: str
    row: int
    text: str


def symbols(path: Path, root: Path) -> list[Symbol]:
    """The definitions of a file in the workspace `root`, without values that look like keys; none if it is no text.
    Raises OSError if it cannot be read."""
    language = languages.of(path)
    content = read(path, MOST_BYTES, root)
    if language is None or b"\0" in content:
        return []
    if language.name == "c" and _CPP.search(content):
        language = languages.of("a.cpp") or language
    source = Source(language, _REHEARSAL)
    tree = source.update(without_secrets(content.decode("utf-8-sig", "replace").replace("\r\n", "\n")))
    if tree is None:
        return []
    text, known = source.bytes, islice(definitions(tree, source.bytes, language), MOST_SYMBOLS)
    members: defaultdict[int, list[Definition]] = defaultdict(list)
    found: list[Definition] = []
    for each in known:
        if _tells(each, text, language):
            found.append(each)
            members[id(each.parent)].append(each)
    spaces = {id(each) for each in found if _is_space(each, members[id(each)], text)}
    return [
        Symbol(
            each.name,
            each.parent.name if each.parent and id(each.parent) not in spaces else "",
            each.kind,
            each.row,
            outline(each, members[id(each)], text, language),
        )
        for each in found
        if id(each) not in spaces
    ]


def _tells(each: Definition, content: bytes, language: Language) -> bool:
    """Whether a definition says something to another file."""
    text = content[each.start : each.end].decode("utf-8", "replace")
    if each.kind == "class":
        return each.body is not None or not _NAMED.fullmatch(text)
    if each.kind == "constant":
        indented = content[each.start - 1 : each.start] not in (b"", b"\n")
        local = indented and each.parent is None and language.family in _WITH_LOCALS
        return not local and not _REQUIRED.match(text)
    return True


def _is_space(each: Definition, members: list[Definition], content: bytes) -> bool:
    """Whether it only gives what is in it a longer name: that is what is looked for."""
    text = content[each.start : each.start + 40].decode("utf-8", "replace")
    only_classes = bool(members) and all(member.kind == "class" for member in members)
    return bool(_SPACE.match(text)) or (text.startswith("module ") and only_classes)
