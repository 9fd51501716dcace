"""Calls and definitions of functions in a syntax tree, by the name that stands in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from dlsp.edits.search.binding import Binding, Verdict
from dlsp.edits.search.page import Page, in_time
from dlsp.edits.search.rules import Rule
from dlsp.edits.search.tokens import PROSE
from dlsp.syntax.source import encoded

# How many nodes above a function's name its call or definition may begin.
_MAX_CLIMB_NODES = 4
_CALLED_FIELDS = ("function", "name", "constructor", "type", "macro")
RECEIVERS = ("self", "cls", "&self", "&mut self", "mut self", "this")


@dataclass(frozen=True)
class Parts:
    """The arguments of a call or the parameters of a definition: `node` is the list around them, `around` the call or
    definition as a whole."""

    node: Node
    around: Node
    is_call: bool
    nodes: tuple[Node, ...]
    texts: tuple[str, ...]

    @property
    def receivers(self) -> int:
        """How many parameters at its beginning a call does not give."""
        return 0 if self.is_call else sum(each in RECEIVERS for each in self.texts[:1])


@dataclass(frozen=True)
class Place:
    """A call or definition of a function that the edit is about; `is_sure`: it is certainly that function."""

    page: Page
    offset: int
    parts: Parts
    is_sure: bool


def lists(root: Node, content: bytes, start: int, end: int) -> Iterator[tuple[str, Parts]]:
    """Yield the calls and definitions whose names stand between two bytes, with their names."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        if not node.child_count and "identifier" in node.type and (found := _parts(node, content)):
            yield content[node.start_byte : node.end_byte].decode("utf-8", "replace"), found
        stack += reversed(node.children)


def places(name: str, own: Page, pages: Sequence[Page], until: float) -> Iterator[Place]:
    """Yield the calls and definitions, outside of the edit, of the function `name` as the edit's lines mean it."""
    binding = Binding(Rule("rename", (name,), name, "called", pure=True, only=True), own, until, pages)
    for page in in_time(pages, until):
        for token in page.tokens:
            if token.text != name or token.role in PROSE or page.is_edited_at(token.start):
                continue
            meant = binding.meaning(page, token.start)
            parts = _parts_at(page, token.start, name) if meant is not Verdict.REFUSED else None
            if parts:
                sure = meant is not Verdict.OPEN or binding.at(page, token.start) == "same meaning"
                yield Place(page, token.start, parts, sure)


def _parts_at(page: Page, offset: int, name: str) -> Parts | None:
    tree = page.source.update(page.text) if page.source else None
    if tree is None or page.source is None:
        return None
    start = len(encoded(page.text[:offset]))
    leaf = tree.root_node.descendant_for_byte_range(start, start + len(encoded(name)))
    return _parts(leaf, page.source.bytes) if leaf else None


def _parts(leaf: Node, content: bytes) -> Parts | None:
    """The list of the call or definition that a name stands for; None for any other place."""
    node = leaf.parent
    for _ in range(_MAX_CLIMB_NODES):
        if node is None:
            return None
        for field in ("arguments", "parameters"):
            found = node.child_by_field_name(field)
            named = [child for each in (*_CALLED_FIELDS, "declarator") if (child := node.child_by_field_name(each))]
            if found and any(child.end_byte == leaf.end_byte for child in named):
                nodes = tuple(child for child in found.named_children if "comment" not in child.type)
                texts = tuple(content[each.start_byte : each.end_byte].decode("utf-8", "replace") for each in nodes)
                return Parts(found, node, field == "arguments", nodes, texts)
        if node.end_byte != leaf.end_byte:
            return None
        node = node.parent
    return None


def character(page: Page, byte: int) -> int:
    """The offset in a page's text of a byte of its tree."""
    assert page.source
    return len(page.source.bytes[:byte].decode("utf-8", "replace"))
