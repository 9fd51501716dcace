"""Summarise a definition in a few lines: what is needed to use it."""

from collections.abc import Iterable

from dlsp.syntax.definitions import Definition
from dlsp.syntax.languages import Language

# The most characters of an outline.
MAX_CHARACTERS = 1200
# A definition up to this size is shown whole.
SHORT_LINES, SHORT_CHARACTERS = 5, 240
_MAX_MEMBER_CHARACTERS = 300


def outline(definition: Definition, members: Iterable[Definition], content: bytes, language: Language) -> str:
    """The outline of a definition; short ones are shown whole.

    A class is shown as its header and its members' signatures, a function as its signature and the first line of its
    docstring.
    """
    whole = _text(definition, content)
    if definition.kind == "constant" or _is_short(whole):
        return _within(whole, SHORT_CHARACTERS * 2)
    if definition.kind == "function":
        return signature(definition, content, language, docstring=True)
    inner = [_within(signature(member, content, language), _MAX_MEMBER_CHARACTERS) for member in members]
    if definition.body is None or not inner:
        return _within(whole, MAX_CHARACTERS)
    head = _head(definition, content)
    if language.elision == " { ... }" and not head.endswith("{"):
        head += " {"
    closing = {"ruby": "\nend", "python": ""}.get(language.name, "\n}")
    return _within("\n".join([head, *inner]), MAX_CHARACTERS) + closing


def signature(definition: Definition, content: bytes, language: Language, *, docstring: bool = False) -> str:
    """The definition with its body replaced by `elision`, indented as in the file."""
    whole = _text(definition, content)
    if definition.kind == "constant" or definition.body is None:
        return _within(whole, SHORT_CHARACTERS)
    head = _head(definition, content)
    first = _docstring(content[definition.body : definition.end]) if docstring and language.name == "python" else ""
    if first:
        indent = " " * (_column(definition, content) + 4)
        return f"{head}\n{indent}{first}\n{indent}..."
    return head + language.elision


def _text(definition: Definition, content: bytes) -> str:
    indent = " " * _column(definition, content)
    return indent + content[definition.start : definition.end].decode("utf-8", "replace").rstrip()


def _head(definition: Definition, content: bytes) -> str:
    indent = " " * _column(definition, content)
    return indent + content[definition.start : definition.body].decode("utf-8", "replace").rstrip()


def _column(definition: Definition, content: bytes) -> int:
    return definition.start - (content.rfind(b"\n", 0, definition.start) + 1)


def _docstring(body: bytes) -> str:
    for quotes in (b'"""', b"'''"):
        if body.startswith(quotes):
            mark = quotes.decode()
            line = body[3:].split(quotes)[0].strip().split(b"\n")[0].decode("utf-8", "replace").strip()
            return f"{mark}{line[:120]}{mark}"
    return ""


def _is_short(text: str) -> bool:
    return len(text) <= SHORT_CHARACTERS and text.count("\n") < SHORT_LINES


def _within(text: str, most: int) -> str:
    """`text` cut at a line end to at most `most` characters, or inside the first line if that is too long."""
    if len(text) <= most:
        return text
    kept = text[:most]
    return kept[: kept.rfind("\n")] if "\n" in kept else kept
