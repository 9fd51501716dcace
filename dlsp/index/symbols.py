"""From a file to its symbols in the index."""

import re
from collections import defaultdict
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dlsp.ignore.reading import read
from dlsp.ignore.rules import MAX_FILE_BYTES
from dlsp.ignore.values import without_secrets
from dlsp.syntax import languages
from dlsp.syntax.definitions import Definition, definitions
from dlsp.syntax.languages import Language
from dlsp.syntax.outline import outline
from dlsp.syntax.rehearsal import Rehearsal
from dlsp.syntax.source import Source

# Only the first symbols of a file are kept; files with more are generated.
MAX_SYMBOLS = 400

_SPACE = re.compile(r"(?:inline\s+)?namespace\b")
# A type that is only declared, or a Rust `mod` that names a file.
_NAMED = re.compile(r"(?:struct|union|enum|class)\s+\w+|(?:pub\b.*\s)?mod\s+\w+;")
_REQUIRED = re.compile(r"\s*(?:local|const|let|var)?\s*[^=]+=\s*require\b")
# Code that shows that a `.h` file is C++.
_CPP = re.compile(rb"^[ \t]*(?:class\s+\w|namespace\b|template\s*<|(?:public|private|protected):)", re.MULTILINE)
# Language families in which an indented constant outside of classes is local to a block.
_WITH_LOCALS = {"python", "javascript", "ruby", "lua", "bash"}


# CPU seconds for parsing a file; wall-clock time may be much longer, as the index has the lowest priority.
_REHEARSAL = Rehearsal(parse_s=1.0, deadline_s=30.0)


class Symbol(NamedTuple):
    """A definition: `parent` is the name of its class, `text` its outline, `row` counts from 0."""

    name: str
    parent: str
    kind: str
    row: int
    text: str


def symbols(path: Path, root: Path) -> list[Symbol]:
    """The definitions of a file in the workspace `root`, with secret values hidden; none if it is not text.

    Raises OSError if it cannot be read.
    """
    language = languages.of(path)
    content = read(path, MAX_FILE_BYTES, root)
    if language is None or b"\0" in content:
        return []
    if language.name == "c" and _CPP.search(content):
        language = languages.of("a.cpp") or language
    source = Source(language, _REHEARSAL)
    tree = source.update(without_secrets(content.decode("utf-8-sig", "replace").replace("\r\n", "\n")))
    if tree is None:
        return []
    text, known = source.bytes, islice(definitions(tree, source.bytes, language), MAX_SYMBOLS)
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
    """Whether a definition is of use to other files."""
    text = content[each.start : each.end].decode("utf-8", "replace")
    if each.kind == "class":
        return each.body is not None or not _NAMED.fullmatch(text)
    if each.kind == "constant":
        indented = content[each.start - 1 : each.start] not in (b"", b"\n")
        local = indented and each.parent is None and language.family in _WITH_LOCALS
        return not local and not _REQUIRED.match(text)
    return True


def _is_space(each: Definition, members: list[Definition], content: bytes) -> bool:
    """Whether it is a namespace, whose members are stored without it, because they are looked up by their own names."""
    text = content[each.start : each.start + 40].decode("utf-8", "replace")
    only_classes = bool(members) and all(member.kind == "class" for member in members)
    return bool(_SPACE.match(text)) or (text.startswith("module ") and only_classes)
