"""How far a name reaches that an edit gave to something local."""

from tree_sitter import Node

from dlsp.syntax.source import Source

_PARAMETERS = ("parameters", "formal_parameters", "parameter_list", "lambda_parameters")
_TARGETS = ("left", "pattern", "alias")
_MOST_NODES = 5_000


def reach(source: Source, text: str, name: str, start: int, end: int) -> tuple[int, int] | None:
    """The offsets of the function in which `name` is bound between the offsets `start` and `end` of the text.

    None where it is bound there in no function, or not at all: then it may mean the same everywhere.
    """
    tree = source.update(text)
    if tree is None:
        return None
    first, last = len(text[:start].encode()), len(text[:end].encode())
    functions = [
        function
        for node in _named(tree.root_node, source.bytes, name.encode(), first, last)
        if _is_bound(node) and (function := _function(node, source))
    ]
    if not functions:
        return None
    widest = min(functions, key=lambda each: each.start_byte)
    return _offset(source, widest.start_byte), _offset(source, widest.end_byte)


def _named(root: Node, content: bytes, name: bytes, first: int, last: int) -> list[Node]:
    found, stack, left = [], [root], _MOST_NODES
    while stack and left:
        node = stack.pop()
        left -= 1
        if node.end_byte <= first or node.start_byte >= last:
            continue
        if node.child_count:
            stack += node.children
        elif content[node.start_byte : node.end_byte] == name:
            found.append(node)
    return found


def _is_bound(node: Node) -> bool:
    """Whether a name is a parameter, or what something is assigned to."""
    child, parent = node, node.parent
    for _ in range(6):
        if parent is None:
            return False
        if parent.type in _PARAMETERS:
            return True
        if parent.type in ("attribute", "call", "subscript", "member_expression", "type"):
            return False
        if any(parent.child_by_field_name(field) == child for field in _TARGETS):
            return True
        child, parent = parent, parent.parent
    return False


def _function(node: Node, source: Source) -> Node | None:
    parent = node.parent
    while parent is not None:
        if parent.type in source.language.functions or parent.type == "lambda":
            return parent
        parent = parent.parent
    return None


def _offset(source: Source, byte: int) -> int:
    return len(source.bytes[:byte].decode("utf-8", "replace"))
