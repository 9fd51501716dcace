"""What a name refers to at each of its places: where it is bound, and whose member or keyword it is."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tree_sitter import Node

from dlsp.edits.search import imports
from dlsp.edits.search.page import in_time
from dlsp.edits.search.scopes import FIELDS, Scope, binds, scopes_of, text_of
from dlsp.syntax.source import Source

_MEMBER_FIELDS = ("attribute", "property", "field")
# Node types in which a name is a member of the given field.
_OWNER_FIELDS = {
    "method_invocation": "object",
    "member_access_expression": "expression",
    "scoped_identifier": "path",
    "qualified_identifier": "scope",
}
# The most places of a name that are examined.
_MAX_PLACES = 500


@dataclass(frozen=True)
class Use:
    """A name at one place.

    `kind`: name, member, keyword, or path (part of the module in an import). `of` is the owner of a member, the
    function called with the keyword, or the text before a path's part. `scopes` are those in which the name is looked
    up, innermost first; `bound` is the one it is found in, `binds` the one it is bound in at this place, `home` the
    class around it. `module` is the module that an import statement takes the name from, None outside of imports.
    """

    kind: str
    of: str
    scopes: tuple[Scope, ...]
    bound: Scope | None
    binds: Scope | None
    home: Scope | None
    module: str | None = None


def uses(source: Source, text: str, name: str, until: float = math.inf) -> dict[int, Use]:
    """The uses of a name by offset, found before the time `until`; none in strings and comments."""
    tree = source.update(text)
    if tree is None:
        return {}
    leaves = in_time(_leaves(tree.root_node, text, name), until)
    places = [(offset, leaf, *scopes_of(leaf, source.bytes, source.language)) for offset, leaf in leaves]
    bound_at = {offset: binds(leaf, scopes, source.language) for offset, leaf, scopes, _ in places}
    binding = set(bound_at.values())
    made: dict[int, Use] = {}
    for offset, leaf, scopes, home in places:
        bound = next((scope for scope in scopes if scope in binding), None)
        made[offset] = Use(
            *_kind(leaf, source.bytes), scopes, bound, bound_at[offset], home, imports.named(leaf, source.bytes)
        )
    return made


def _leaves(root: Node, text: str, name: str) -> Iterator[tuple[int, Node]]:
    at = byte = 0
    for match in islice(re.finditer(rf"\b{re.escape(name)}\b", text), _MAX_PLACES):
        byte += len(text[at : match.start()].encode("utf-8", "replace"))
        at = match.start()
        leaf = root.descendant_for_byte_range(byte, byte + len(name.encode()))
        is_name = leaf is not None and leaf.start_byte == byte and leaf.end_byte == byte + len(name.encode())
        if leaf and is_name and not leaf.child_count and "identifier" in leaf.type:
            yield match.start(), leaf


def _kind(leaf: Node, content: bytes) -> tuple[str, str]:
    parent = leaf.parent
    if parent is None:
        return "name", ""
    if parent.type == "keyword_argument" and parent.child_by_field_name("name") == leaf:
        call = parent.parent.parent if parent.parent else None
        called = call.child_by_field_name("function") if call else None
        return "keyword", text_of(called, content).rsplit(".", 1)[-1] if called else ""
    if parent.type == "dotted_name":
        first = parent.children[0] == leaf
        around = parent.parent
        if not first or (around is not None and around.child_by_field_name("module_name") == parent):
            return "path", content[parent.start_byte : leaf.start_byte].decode("utf-8", "replace")
        return "name", ""
    if parent.type in FIELDS:
        return "name", ""
    for field in _MEMBER_FIELDS:
        if parent.child_by_field_name(field) == leaf:
            return "member", text_of(parent.children[0], content)
    owner = parent.child_by_field_name(_OWNER_FIELDS.get(parent.type, ""))
    if owner and parent.child_by_field_name("name") == leaf:
        return "member", text_of(owner, content)
    return "name", ""
