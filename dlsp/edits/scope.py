"""What a name stands for at each of its places: where it is bound, whose member or keyword it is."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tree_sitter import Node

from dlsp.edits.until import in_time
from dlsp.syntax.languages import Language
from dlsp.syntax.source import Source

_INNER = (
    *("lambda", "list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"),
    *("arrow_function", "function_expression", "lambda_expression", "closure_expression", "func_literal"),
)
_LOOPS = ("for_statement",)
_TYPED = ("default_parameter", "typed_default_parameter", "typed_parameter")
_PARAMETERS = ("parameters", "formal_parameters", "parameter_list", "lambda_parameters")
_TARGETS = ("left", "pattern", "alias", "declarator", "parameter")
_MEMBERS = ("attribute", "property", "field")
_OWNERS = {
    "method_invocation": "object",
    "member_access_expression": "expression",
    "scoped_identifier": "path",
    "qualified_identifier": "scope",
}
"""Where a name is a member of what stands in this field."""
_FIELDS = ("public_field_definition", "field_definition", "property_signature", "property_declaration")
_NAMING = (
    *("named_expression", "variable_declarator", *_FIELDS),
    *("enhanced_for_statement", "catch_formal_parameter", "catch_declaration", "resource"),
)
_SPECIFIERS = ("import_specifier", "import_clause", "namespace_import")
_USES = ("use_declaration", "use_list")
_PATTERNS = ("shorthand_property_identifier_pattern",)
_NO_TARGETS = (
    *("attribute", "call", "subscript", "member_expression", "type"),
    *("binary_operator", "boolean_operator", "comparison_operator", "binary_expression"),
    # Where variables are declared, they are not bound by an assignment.
    *("assignment_expression", "augmented_assignment_expression", "compound_assignment_expr", "assignment_statement"),
)
_MOST = 500
"""Places of a name that are looked at."""


@dataclass(frozen=True)
class Scope:
    """A module, class, function or loop, by its bytes; `owner` is the name of the class that a method is in."""

    kind: str
    name: str
    start: int
    end: int
    owner: str = ""


@dataclass(frozen=True)
class Use:
    """A name at a place.

    `kind`: name, member, keyword, path (the module in an import). `of` is what a member is one of, what is called with
    the keyword, or what stands before a path's part. `scopes` are those in which the name is looked up, innermost
    first; `bound` is the one it is found in, `binds` the one that it is bound in at this very place, `home` the class
    around.
    """

    kind: str
    of: str
    scopes: tuple[Scope, ...]
    bound: Scope | None
    binds: Scope | None
    home: Scope | None


def uses(source: Source, text: str, name: str, until: float = math.inf) -> dict[int, Use]:
    """The places of a name by their offsets, those found `until` then; none in strings and comments."""
    tree = source.update(text)
    if tree is None:
        return {}
    leaves = in_time(_leaves(tree.root_node, text, name), until)
    places = [(offset, leaf, *_scopes(leaf, source.language)) for offset, leaf in leaves]
    binds = {offset: _binds(leaf, scopes, source.language) for offset, leaf, scopes, _ in places}
    made = {}
    for offset, leaf, scopes, home in places:
        bound = next((scope for scope in scopes if scope in binds.values()), None)
        made[offset] = Use(*_kind(leaf), scopes, bound, binds[offset], home)
    return made


def _leaves(root: Node, text: str, name: str) -> Iterator[tuple[int, Node]]:
    at = byte = 0
    for match in islice(re.finditer(rf"\b{re.escape(name)}\b", text), _MOST):
        byte += len(text[at : match.start()].encode("utf-8", "replace"))
        at = match.start()
        leaf = root.descendant_for_byte_range(byte, byte + len(name.encode()))
        if leaf and not leaf.child_count and "identifier" in leaf.type and leaf.text == name.encode():
            yield match.start(), leaf


def _scopes(leaf: Node, language: Language) -> tuple[tuple[Scope, ...], Scope | None]:
    """The scopes of a name, and the class around it."""
    found: list[Scope] = []
    home = None
    child, parent = leaf, leaf.parent
    is_outside = is_nested = False
    while parent is not None:
        is_outside = is_outside or _is_outside(child, parent, language)
        kind = _scope_kind(parent, language)
        if kind and not is_outside:
            scope = Scope(kind, _name(parent), parent.start_byte, parent.end_byte, _owner(parent, language))
            # Functions of these do not see the names of their class.
            if not (kind == "class" and is_nested and language.family in ("python", "javascript")):
                found.append(scope)
            home = home or (scope if kind == "class" else None)
            is_nested = is_nested or kind == "function"
        is_outside = is_outside and not kind
        child, parent = parent, parent.parent
    return tuple(found), home


def _scope_kind(node: Node, language: Language) -> str:
    if node.parent is None:
        return "module"
    if node.type in language.classes:
        return "class"
    if node.type in _LOOPS:
        return "loop"
    return "function" if _is_function(node, language) or node.type in _INNER else ""


def _is_function(node: Node, language: Language) -> bool:
    """C declares functions and variables alike."""
    declared = node if node.type == "declaration" else None
    while declared is not None and declared.type != "function_declarator":
        declared = declared.child_by_field_name("declarator")
    return node.type in language.functions and (node.type != "declaration" or declared is not None)


def _is_outside(child: Node, parent: Node, language: Language) -> bool:
    """Whether a part of a scope, or of its parameters, is looked up around it."""
    if parent.type in _LOOPS:
        fields = ("right",)
    elif parent.type in _TYPED:
        fields = ("value", "type")
    elif parent.type == "function_declarator":
        fields = ("declarator",)
    elif parent.type in language.functions or parent.type in language.classes:
        fields = ("name", "superclasses", "return_type")
    else:
        return False
    return any(parent.child_by_field_name(field) == child for field in fields)


def _owner(node: Node, language: Language) -> str:
    """The name of the class that a function is in."""
    around = node.parent if node.type in language.functions else None
    while around is not None and around.type not in language.classes:
        around = None if around.type in language.functions else around.parent
    return _name(around) if around else ""


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return _text(name) if name else ""


def _kind(leaf: Node) -> tuple[str, str]:
    parent = leaf.parent
    if parent is None:
        return "name", ""
    if parent.type == "keyword_argument" and parent.child_by_field_name("name") == leaf:
        call = parent.parent.parent if parent.parent else None
        called = call.child_by_field_name("function") if call else None
        return "keyword", _text(called).rsplit(".", 1)[-1] if called else ""
    if parent.type == "dotted_name":
        first = parent.children[0] == leaf
        around = parent.parent
        if not first or (around is not None and around.child_by_field_name("module_name") == parent):
            content = _text(parent)
            return "path", content[: leaf.start_byte - parent.start_byte]
        return "name", ""
    if parent.type in _FIELDS:
        return "name", ""
    for field in _MEMBERS:
        if parent.child_by_field_name(field) == leaf:
            return "member", _text(parent.children[0])
    owner = parent.child_by_field_name(_OWNERS.get(parent.type, ""))
    if owner and parent.child_by_field_name("name") == leaf:
        return "member", _text(owner)
    return "name", ""


def _binds(leaf: Node, scopes: tuple[Scope, ...], language: Language) -> Scope | None:
    """The scope in which a name is bound at this place, if it is."""
    parent = leaf.parent
    if parent is None or not (_is_imported(leaf) or _is_defined(leaf, parent, language) or _is_target(leaf, parent)):
        return None
    own = next((scope for scope in scopes if scope.kind != "loop"), None)
    return scopes[0] if _is_of_loop(leaf) else own


def _is_imported(leaf: Node) -> bool:
    parent = leaf.parent
    around = parent.parent if parent else None
    if parent is not None and around is not None and parent.type == "scoped_identifier":
        return around.type in _USES and leaf == parent.child_by_field_name("name")
    if parent is not None and parent.type in (*_SPECIFIERS, *_USES):
        return leaf == (parent.child_by_field_name("alias") or leaf)
    if parent is None or around is None or parent.type != "dotted_name" or parent.children[0] != leaf:
        return False
    return around.type.startswith("import") and around.child_by_field_name("module_name") != parent


def _is_defined(leaf: Node, parent: Node, language: Language) -> bool:
    if leaf.type in _PATTERNS:
        return True
    is_named = parent.type in language.functions or parent.type in language.classes or parent.type in _NAMING
    name = parent.child_by_field_name("name") or parent.child_by_field_name("property")
    # C#'s variables have no field for their name.
    return is_named and leaf == (name or (parent.type == "variable_declarator" and parent.children[0]))


def _is_target(leaf: Node, parent: Node | None) -> bool:
    """Whether a name is a parameter, or what something is assigned to."""
    child = leaf
    for _ in range(6):
        if parent is None or parent.type in _NO_TARGETS:
            return False
        if any(parent.child_by_field_name(field) == child for field in ("value", "right", "type", "size")):
            return False
        if parent.type in _PARAMETERS or any(parent.child_by_field_name(field) == child for field in _TARGETS):
            return True
        child, parent = parent, parent.parent
    return False


def _is_of_loop(leaf: Node) -> bool:
    child, parent = leaf, leaf.parent
    while parent is not None and parent.type not in _LOOPS:
        child, parent = parent, parent.parent
    return parent is not None and parent.child_by_field_name("left") == child


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
