"""Where a name is bound: imported, defined, a parameter, or what something is assigned to."""

from tree_sitter import Node

from dlsp.edits.scope import LOOPS, Scope
from dlsp.syntax.languages import Language

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
    # Where variables are declared, they are not bound by an assignment.
    *("assignment_expression", "augmented_assignment_expression", "compound_assignment_expr", "assignment_statement"),
)


def binds(leaf: Node, scopes: tuple[Scope, ...], language: Language) -> Scope | None:
    """The scope in which a name is bound at this place, if it is."""
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
        name = parent.children[0]  # C#'s have no field for it
    is_named = parent.type in language.functions or parent.type in language.classes or parent.type in _NAMING
    return is_named and leaf == name


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
    while parent is not None and parent.type not in LOOPS:
        child, parent = parent, parent.parent
    return parent is not None and parent.child_by_field_name("left") == child
