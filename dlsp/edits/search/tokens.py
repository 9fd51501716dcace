"""Split code into tokens, each with its syntactic role."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from dlsp.syntax.source import Source

# Roles of words that compilers ignore.
PROSE = ("string", "comment")
TOKEN = re.compile(r"\w+|[^\S\n]+|\n|[^\w\s]")
WORD = re.compile(r"[^\W\d]\w*")
# The most characters of a line that is used to learn rules or as a site; longer lines are generated.
MAX_LINE_CHARACTERS = 2_000
_MAX_NODES = 50_000
_MAX_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Token:
    """A token; `start` is the offset of its first character in the text.

    `role` is string, comment, type, keyword, import, path (the module in an import), member, called or plain.
    """

    text: str
    start: int
    role: str = "plain"

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_word(self) -> bool:
        return WORD.fullmatch(self.text) is not None


def split(text: str) -> list[str]:
    """The texts of the tokens only."""
    return TOKEN.findall(text)


def is_quoted(found: Sequence[Token], start: int, end: int) -> bool:
    """Whether the tokens from `start` to `end` are enclosed in a pair of equal quotes."""
    around = found[start - 1 : start], found[end : end + 1]
    return all(around) and around[0][0].text == around[1][0].text and around[0][0].text in ("'", '"')


def tokens(text: str, source: Source | None = None) -> list[Token]:
    """All tokens of a text. Without its `source`, roles are derived from neighbouring tokens only."""
    spans = _Spans(text, source)
    found = [(match[0], match.start()) for match in TOKEN.finditer(text)]
    made: list[Token] = []
    for index, (word, start) in enumerate(found):
        role = "plain"
        if WORD.fullmatch(word):
            role = spans.at(start) or _role(found, index)
        made.append(Token(word, start, role))
    return made


def _role(found: list[tuple[str, int]], index: int) -> str:
    before = found[index - 1][0] if index else ""
    after = found[index + 1][0] if index + 1 < len(found) else ""
    if before == ".":
        return "member"
    if after == "(":
        return "called"
    return "plain"


class _Spans:
    """Ranges of the text whose role is known from the syntax tree."""

    def __init__(self, text: str, source: Source | None) -> None:
        self._starts: list[int] = []
        self._spans: list[tuple[int, str]] = []
        tree = source.update(text) if source else None
        if tree is None or source is None:
            return
        plain = source.bytes if not text.isascii() else None
        at_byte = at_char = 0
        for start, end, role in _stretches(tree.root_node):
            if plain is not None:
                at_char += len(plain[at_byte:start].decode("utf-8", "replace"))
                at_byte = start
                begin, stop = at_char, at_char + len(plain[start:end].decode("utf-8", "replace"))
            else:
                begin, stop = start, end
            self._starts.append(begin)
            self._spans.append((stop, role))

    def at(self, offset: int) -> str:
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or self._spans[index][0] <= offset:
            return ""
        return self._spans[index][1]


def _stretches(root: Node) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, role) in bytes, in text order, not overlapping."""
    stack: list[tuple[Node, int]] = [(root, 0)]
    left = _MAX_NODES
    while stack and left:
        node, depth = stack.pop()
        left -= 1
        if role := _known(node):
            yield node.start_byte, node.end_byte, role
        elif depth < _MAX_DEPTH:
            stack += [(child, depth + 1) for child in reversed(node.children)]


def _known(node: Node) -> str:
    kind = node.type
    if "comment" in kind:
        return "comment"
    if kind in ("string_content", "string_fragment", "string_literal", "raw_string_literal"):
        return "string"
    if kind in ("type", "type_annotation", "type_identifier"):
        return "type"
    parent = node.parent
    if parent is not None and parent.type == "import_from_statement" and node.child_count:
        return "path" if parent.child_by_field_name("module_name") == node else "import"
    if kind.startswith("import") and node.child_count and kind != "import_from_statement":
        return "import"
    if kind == "identifier" and parent is not None and parent.type == "keyword_argument":
        name = parent.child_by_field_name("name")
        return "keyword" if name is not None and name.start_byte == node.start_byte else ""
    return ""
