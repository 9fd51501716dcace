"""Constraints of every kind, and checkers that share nothing with the engine."""

import json
import re
from typing import Any

import jsonschema
from lark import Lark
from lark.exceptions import LarkError

from tests.constraints import code

REGEXES = [
    r"[a-z]{2,5} = [0-9]{1,4}(, [a-z]+)*;",
    r"(é|日本)+x{3}",
    r"(?i:yes|no|maybe)",
    r"[^\n\x00-\x1f\x7f-\xff]{3,9}\n",
    r"(a|ab)(c|bcd)(d*)",
    r'"([^"\\]|\\["\\/bfnrt]){0,6}"',
    r"[0-9]{4}-(0[1-9]|1[0-2])-([0-2][0-9]|3[01])",
    r"[01]*1[01]{3}",
    r"def [a-z_]+\(([a-z]+(, [a-z]+)*)?\):\n    pass",
]

GRAMMARS = [
    """
start: sum
sum: product (("+" | "-") product)*
product: atom (("*" | "/") atom)*
atom: NUMBER | "(" sum ")"
NUMBER: /[0-9]{1,2}/
""",
    """
start: list
list: "[" [item ("," item)*] "]"
item: NAME | list
NAME: /[a-z]{1,3}/
""",
    """
start: query
query: "SELECT " names " FROM " NAME where?
names: NAME ("," " " NAME)*
where: " WHERE " NAME OPERATOR VALUE
OPERATOR: "=" | "<" | ">"
NAME: /[a-z]{1,4}/
VALUE: /[0-9]{1,3}/
""",
    """
start: word
word: "a" word "a" | "b" word "b" | "c"
""",
    """
start: element
element: "<b>" inner "</b>" | "<i>" inner "</i>"
inner: TEXT? element? TEXT?
TEXT: /[a-zé]{1,3}/
""",
]

SHORT = {"type": "string", "maxLength": 3}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


SCHEMAS: list[Any] = [
    {"type": "boolean"},
    {"type": "null"},
    {"type": "integer", "minimum": -5, "maximum": 120},
    {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "integer", "multipleOf": 7},
    SHORT,
    {"type": "string", "minLength": 2, "maxLength": 4},
    {"type": "string", "pattern": "^[A-Z]{2}[0-9]{1,3}$"},
    {"type": "string", "format": "date"},
    {"enum": ["red", "green", 3, None, True]},
    {"const": {"a": [1, "b"]}},
    {"type": "array", "items": {"type": "boolean"}, "maxItems": 3},
    {"type": "array", "prefixItems": [{"type": "null"}, SHORT], "items": False, "minItems": 2},
    {"anyOf": [{"type": "boolean"}, SHORT, {"type": "array", "items": SHORT, "maxItems": 2}]},
    _object(a={"type": "integer", "minimum": 0, "maximum": 9}),
    _object(name=SHORT, age={"type": "integer", "minimum": 0, "maximum": 150}),
    _object(x=_object(y={"type": "boolean"}), z={"type": "array", "items": SHORT, "maxItems": 1}),
    {"type": "object", "properties": {"o": {"type": "null"}, "p": {"type": "boolean"}}, "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 2},
    {
        "$defs": {"tree": _object(v={"type": "boolean"}, kids={"type": "array", "items": {"$ref": "#/$defs/tree"}})},
        "$ref": "#/$defs/tree",
    },
]

CHOICES = [["red", "green", "great", 'a "quoted" \\ one\n', "日"], ["a", "ab", "abc"], ["one only, and a long one"]]

SEVERAL: list[dict[str, Any]] = [
    {"regex": r"[a-z]{3,5}|日", "choices": ["red", "green", "great", "RED", "日"]},
    {"json_schema": SHORT, "regex": r'"[a-c]*"'},
    {"grammar": GRAMMARS[1], "regex": r"\[[a-z,]*\]"},
    {"grammar": 'start: "a"* "b"*', "regex": "a{2,4}b{1,3}", "choices": ["aab", "aabbb", "aaaabb", "b"]},
]

CODE: list[dict[str, Any]] = [
    {"identifiers": ["a", "ab", "x1"]},
    {"balanced": True},
    {"identifiers": ["a", "ab"], "balanced": True},
    {"identifiers": ["a", "ab", "bé"], "regex": r"[ab.(), é]{4,12}"},
    {"identifiers": ["a", "b"], "balanced": True, "regex": r'[ab.()\[\]" ]{4,}'},
    {"identifiers": ["a", "b"], "grammar": 'start: NAME ("." NAME | "(" NAME ")")*\nNAME: /[abc]/'},
    {"identifiers": ["a"], "choices": ["x.a(", "x.b(1)", "a.a", "x.a", "ab(x)"]},
    {"balanced": True, "regex": r'[()\[\]{}ab"\n]{6,}'},
    {"balanced": True, "choices": ["f(a)", "f(a", "f(", "f)", "[f(a)]"]},
    {"balanced": True, "json_schema": {"type": "array", "items": SHORT, "maxItems": 2}},
    {"balanced": True, "regex": "[()a]{3,5}"},  # may come to where nothing is allowed
]

CONSTRAINTS: list[dict[str, Any]] = [
    *({"regex": regex} for regex in REGEXES),
    *({"grammar": grammar} for grammar in GRAMMARS),
    *({"json_schema": schema} for schema in SCHEMAS),
    *({"choices": choices} for choices in CHOICES),
    *SEVERAL,
    *CODE,
    *CODE,  # so that a third of the cases is on code
]


def accepts(constraint: dict[str, Any], text: str, before: str, behind: str) -> bool:
    """Whether a checker of its own kind accepts the text between two others, for each part of the constraint."""
    return all(accepted(kind, value, text, before, behind) for kind, value in constraint.items())


def accepted(kind: str, value: Any, text: str, before: str, behind: str) -> bool:
    if kind == "identifiers":
        return code.named(value, before, text)
    if kind == "balanced":
        return code.balanced(before, text, behind)
    if kind == "regex":
        return re.fullmatch(value, text) is not None
    if kind == "choices":
        return text in value
    try:
        if kind == "grammar":
            Lark(value).parse(text)
        else:
            jsonschema.Draft202012Validator(value).validate(json.loads(text))
    except (LarkError, ValueError, jsonschema.ValidationError):
        return False
    return True
