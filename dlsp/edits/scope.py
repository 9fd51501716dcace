"""The scopes around a place: modules, classes, functions and loops."""

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
    """A module, class, function or loop, by its bytes; `owner` is the name of the class that a method is in."""

    kind: str
    name: str
    start: int
    end: int
    owner: str = ""


def scopes_of(leaf: Node, language: Language) -> tuple[tuple[Scope, ...], Scope | None]:
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
    if node.type in LOOPS:
        return "loop"
    return "function" if is_function(node, language) or node.type in _INNER else ""


def _is_outside(child: Node, parent: Node, language: Language) -> bool:
    """Whether a part of a scope, or of its parameters, is looked up around it."""
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


def _owner(node: Node, language: Language) -> str:
    """The name of the class that a function is in."""
    around = node.parent if node.type in language.functions else None
    while around is not None and around.type not in language.classes:
        around = None if around.type in language.functions else around.parent
    return _name(around) if around else ""


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return text_of(name) if name else ""


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
