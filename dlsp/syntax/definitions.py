"""The definitions of a file: functions, classes and constants outside function bodies."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node, Tree

from dlsp.syntax.languages import Language

MAX_NODES = 20_000
MAX_DEPTH = 12
_NAME = re.compile(r"\w+\Z")
_WRAPPERS = {
    *("decorated_definition", "export_statement", "template_declaration", "ambient_declaration"),
    *("lexical_declaration", "variable_declaration", "expression_statement", "declaration_list"),
}


@dataclass(frozen=True)
class Definition:
    """A definition; offsets are in bytes, `start` includes decorators and modifiers.

    `body` is the offset where the body begins, None without one. `parent` is the class around it.
    """

    name: str
    kind: str  # function, class or constant
    start: int
    body: int | None
    end: int
    row: int
    parent: "Definition | None" = None


def definitions(tree: Tree, content: bytes, language: Language) -> Iterator[Definition]:
    """Yield the definitions in text order, visiting at most MAX_NODES nodes.

    Nodes with errors are searched, function bodies are not.
    """
    left = MAX_NODES
    stack: list[tuple[Node, Node, Definition | None, int]] = [(tree.root_node, tree.root_node, None, 0)]
    while stack and left > 0:
        node, outer, parent, depth = stack.pop()
        left -= 1
        if node.type in language.imports:
            continue
        found = _definition(node, outer, parent, content, language) if depth else None
        if found:
            yield found
            body = node.child_by_field_name("body")
            if found.kind != "class" or body is None:
                continue
            node, parent = body, found
        if depth < MAX_DEPTH:
            wrapped = depth and not found and node.type in _WRAPPERS
            children = node.named_children
            stack += [(child, outer if wrapped else child, parent, depth + 1) for child in reversed(children)]


def is_function(node: Node, language: Language) -> bool:
    """Whether the node defines or declares a function; a C declaration only does if its declarator is a function's."""
    if node.type != "declaration":
        return node.type in language.functions
    declarator = _field(node, "declarator")
    while declarator and declarator.type in ("pointer_declarator", "reference_declarator"):
        declarator = _field(declarator, "declarator")
    return declarator is not None and declarator.type == "function_declarator"


def _definition(
    node: Node, outer: Node, parent: Definition | None, content: bytes, language: Language
) -> Definition | None:
    kind = _kind(node, language)
    name = _name(node, content) if kind else ""
    if not name:
        return None
    body = node.child_by_field_name("body")
    if node.type == "variable_declarator" and (function := _assigned_function(node)):
        kind, body = "function", function.child_by_field_name("body")
    # A wrapper around several definitions is not part of each of them.
    start = outer.start_byte if outer.named_child_count and outer.end_byte - node.end_byte <= 2 else node.start_byte
    return Definition(name, kind, start, body.start_byte if body else None, node.end_byte, node.start_point.row, parent)


def _kind(node: Node, language: Language) -> str:
    if node.type in language.functions:
        return "function" if is_function(node, language) else ""
    if node.type in language.classes:
        return "class"
    return "constant" if node.type in language.constants else ""


def _name(node: Node, content: bytes) -> str:
    inner: Node | None = node
    for _ in range(6):
        assert inner is not None
        node = inner
        if not node.child_count:
            break
        fields = (_field(node, field) for field in ("name", "declarator", "left", "type"))
        inner = next((found for found in fields if found), None)
        if inner is None and node.type in ("type_declaration", "assignment_statement", "field_declaration"):
            inner = node.named_children[0] if node.named_children else None
        if inner is None:
            break
    text = content[node.start_byte : node.end_byte][-80:].decode("utf-8", "replace")
    found = _NAME.search(text)
    return found.group() if found else ""


def _field(node: Node, field: str) -> Node | None:
    # Only in Rust's `impl` is the type the name of what is defined; elsewhere it is the type of it.
    if field == "type" and node.type not in ("impl_item", "generic_type"):
        return None
    if field == "declarator" and node.type == "reference_declarator":  # it has no fields
        return node.named_child(0)
    return node.child_by_field_name(field)


def _assigned_function(declarator: Node) -> Node | None:
    value = declarator.child_by_field_name("value")
    return value if value and value.type in ("arrow_function", "function_expression") else None
