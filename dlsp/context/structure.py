"""The position of the cursor in the syntax tree."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node, Tree

from dlsp.syntax.definitions import Definition, definitions
from dlsp.syntax.source import Source

_HOLDER_TYPES = """
ERROR module program source_file translation_unit compilation_unit chunk document stream stylesheet
block statement_block statement_list compound_statement body_statement case_statement switch_body
class_body interface_body enum_body declaration_list field_declaration_list enum_member_declaration_list
object object_type array block_mapping block_sequence table section element fragment
"""
# Node types that contain statements, or their equivalent in the language.
_HOLDERS = frozenset(_HOLDER_TYPES.split())
# Field names of a statement's own blocks.
_BODIES = ("body", "consequence")


@dataclass(frozen=True)
class Structure:
    """A tree and a position in it, in bytes. Offsets in `content` before `cursor` equal those in the document.

    `indent` is the column at which the cursor's line begins.
    """

    source: Source
    tree: Tree
    content: bytes
    cursor: int
    indent: int

    @cached_property
    def definitions(self) -> list[Definition]:
        return list(definitions(self.tree, self.content, self.source.language))

    @cached_property
    def enclosing(self) -> list[Definition]:
        """The definitions around the cursor, outermost first.

        One that ended just before the cursor counts if the cursor's line is indented deeper.
        """
        found = [each for each in self.definitions if each.start < self.cursor and each.kind != "constant"]
        return [each for each in found if self.cursor <= each.end or self._continues(each)]

    def _continues(self, definition: Definition) -> bool:
        column = definition.start - (self.content.rfind(b"\n", 0, definition.start) + 1)
        return column < self.indent and not self.content[definition.end : self.cursor].strip()

    @cached_property
    def imports(self) -> list[Node]:
        """Import statements outside of definitions."""
        types = self.source.language.imports
        return [node for node in self.tree.root_node.children if node.type in types]

    def text(self, node: Node) -> str:
        return self.content[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def statement(self) -> tuple[int, int] | None:
        """Start and end of the innermost statement around the cursor, in bytes; None between statements.

        A compound statement counts up to its body, which consists of statements of its own.
        """
        node = self.tree.root_node
        place = node.descendant_for_byte_range(max(0, self.cursor - 1), self.cursor)
        found = None
        # From the root down, because tree-sitter finds a node's parent by walking from the root.
        while place and node != place and (inner := node.child_with_descendant(place)):
            if node.type in _HOLDERS:
                found = inner.start_byte, inner.end_byte
            node = inner
            if found and (body := self._body(node)) is not None:
                found = found[0], min(found[1], body)
        return None if node.type in _HOLDERS else found

    def _body(self, node: Node) -> int | None:
        """The start of the node's block, if the block begins after the cursor; else None."""
        for field in _BODIES:
            body = node.child_by_field_name(field)
            if body and body.type in _HOLDERS and body.start_byte >= self.cursor:
                return body.start_byte
        return None

    def last_end(self, first: int, most: int) -> int | None:
        """The last position in `[first, most]` where a statement ends; None if there is none."""
        found, node = None, self.tree.root_node
        while node:
            children = node.children
            at = bisect_right(children, most, key=lambda child: child.end_byte)
            if at and node.type in _HOLDERS and children[at - 1].end_byte >= first:
                found = max(found or 0, children[at - 1].end_byte)
            node = children[at] if at < len(children) and children[at].start_byte < most else None
        return found

    def next_start(self, first: int, most: int) -> int | None:
        """The first position in `[first, most)` where a statement starts, the outermost statement if several do; else
        None."""
        node = self.tree.root_node
        while node:
            children = node.children
            at = bisect_right(children, first - 1, key=lambda child: child.start_byte)
            if at < len(children) and node.type in _HOLDERS and children[at].start_byte < most:
                return children[at].start_byte
            node = children[at - 1] if at else None
        return None


def structure(source: Source, before: str, after: str) -> Structure | None:
    """Return the structure around the cursor; None if the document has no tree.

    Code being typed often does not parse and spoils the tree around it. In that case the document is parsed without the
    cursor's line, and that tree is used if it has fewer errors.
    """
    tree = source.update(before + after)
    if tree is None:
        return None
    cursor = len(before.encode("utf-8", "replace"))
    start = source.bytes.rfind(b"\n", 0, cursor) + 1
    line = source.bytes[start:cursor]
    indent = len(line) - len(line.lstrip())
    if tree.root_node.has_error:
        end = source.bytes.find(b"\n", cursor)
        content = source.bytes[:start] + (source.bytes[end + 1 :] if end >= 0 else b"")
        healed = source.imagined(content)
        if healed and source.errors(healed, start) < source.errors(tree, cursor):
            return Structure(source, healed, content, start, indent)
    return Structure(source, tree, source.bytes, cursor, indent)
