"""The scopes around a name (module, classes, functions, loops), and the scope a name is bound in."""

from dataclasses import dataclass

from tree_sitter import Node

from dlsp.syntax.definitions import is_function
from dlsp.syntax.languages import Language

_INNER = (
    *("lambda", "list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"),
    *("arrow_function", "function_expression", "lambda_expression", "closure_expression", "func_literal"),
)
LOOPS = ("for_statement",)
_TYPED = ("default_parameter", "typed_default_parameter", "typed_parameter")


@dataclass(frozen=True)
class Scope:
    """A module, class, function or loop; `start` and `end` in bytes, `owner` the name of the class around a method."""

    kind: str
    name: str
    start: int
    end: int
    owner: str = ""


def scopes_of(leaf: Node, content: bytes, language: Language) -> tuple[tuple[Scope, ...], Scope | None]:
    """The scopes in which a name of the document `content` is looked up, innermost first, and the class around it."""
    found: list[Scope] = []
    home = None
    child, parent = leaf, leaf.parent
    is_outside = is_nested = False
    while parent is not None:
        is_outside = is_outside or _is_outside(child, parent, language)
        kind = _scope_kind(parent, language)
        if kind and not is_outside:
            owner = _owner(parent, content, language)
            scope = Scope(kind, _name(parent, content), parent.start_byte, parent.end_byte, owner)
            # In these languages, methods do not see the names of their class.
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
    if node.type in LOOPS:
        return "loop"
    return "function" if is_function(node, language) or node.type in _INNER else ""


def _is_outside(child: Node, parent: Node, language: Language) -> bool:
    """Whether this part of a scope or parameter is evaluated outside of it, such as a default value."""
    if parent.type in LOOPS:
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


def _owner(node: Node, content: bytes, language: Language) -> str:
    """The name of the class around a function; "" if there is none."""
    around = node.parent if node.type in language.functions else None
    while around is not None and around.type not in language.classes:
        around = None if around.type in language.functions else around.parent
    return _name(around, content) if around else ""


def _name(node: Node, content: bytes) -> str:
    name = node.child_by_field_name("name")
    return text_of(name, content) if name else ""


def text_of(node: Node, content: bytes) -> str:
    """The node's text in the document `content`."""
    return content[node.start_byte : node.end_byte].decode("utf-8", "replace")


FIELDS = ("public_field_definition", "field_definition", "property_signature", "property_declaration")
_PARAMETERS = ("parameters", "formal_parameters", "parameter_list", "lambda_parameters")
_TARGETS = ("left", "pattern", "alias", "declarator", "parameter")
_NAMING = (
    *("named_expression", "variable_declarator", *FIELDS),
    *("enhanced_for_statement", "catch_formal_parameter", "catch_declaration", "resource"),
)
_SPECIFIERS = ("import_specifier", "import_clause", "namespace_import")
_USES = ("use_declaration", "use_list")
_NO_TARGETS = (
    *("attribute", "call", "subscript", "member_expression", "type"),
    *("binary_operator", "boolean_operator", "comparison_operator", "binary_expression"),
    # In languages with declarations an assignment does not bind a variable, nor does an augmented one anywhere.
    "augmented_assignment",
    *("assignment_expression", "augmented_assignment_expression", "compound_assignment_expr", "assignment_statement"),
)


def binds(leaf: Node, scopes: tuple[Scope, ...], language: Language) -> Scope | None:
    """The scope in which a name is bound at this place; None if it is not bound here."""
    parent = leaf.parent
    if parent is None:
        return None
    if not (_is_imported(leaf, parent) or _is_defined(leaf, parent, language) or _is_target(leaf, parent)):
        return None
    return scopes[0] if _is_of_loop(leaf) else next((scope for scope in scopes if scope.kind != "loop"), None)


def _is_imported(leaf: Node, parent: Node) -> bool:
    if parent.type in (*_SPECIFIERS, *_USES):
        return leaf == (parent.child_by_field_name("alias") or leaf)
    around = parent.parent
    if around is not None and parent.type == "scoped_identifier":
        return around.type in _USES and leaf == parent.child_by_field_name("name")
    if around is not None and parent.type == "dotted_name" and parent.children[0] == leaf:
        return around.type.startswith("import") and around.child_by_field_name("module_name") != parent
    return False


def _is_defined(leaf: Node, parent: Node, language: Language) -> bool:
    if leaf.type == "shorthand_property_identifier_pattern":
        return True
    name = parent.child_by_field_name("name") or parent.child_by_field_name("property")
    if name is None and parent.type == "variable_declarator":
        name = parent.children[0]  # C# has no `name` field here
    is_named = parent.type in language.functions or parent.type in language.classes or parent.type in _NAMING
    return is_named and leaf == name


def _is_target(leaf: Node, parent: Node | None) -> bool:
    """Whether a name is a parameter or the target of an assignment."""
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
    while parent is not None and parent.type not in LOOPS:
        child, parent = parent, parent.parent
    return parent is not None and parent.child_by_field_name("left") == child
