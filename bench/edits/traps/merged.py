"""Traps made without any analysis of scopes: two names that are each used for one thing only become the same name.

In a real file, a parameter `a` of one function and a parameter `b` of another are taken, each of which stands nowhere
else in the file. Where `b` is written `a`, the file has two bindings of one name, and it is known without any analysis
which place belongs to which.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node

from bench.edits.traps.trap import Trap
from dlsp.edits.search.tokens import PROSE, Token, tokens
from dlsp.syntax import languages
from dlsp.syntax.definitions import is_function
from dlsp.syntax.languages import Language
from dlsp.syntax.source import Source

NEW = "renamed_by_hand"
# Node types with a function's parameters, and words in node types where a name is more than the use of a variable.
_PARAMETERS = ("parameters", "formal_parameters", "parameter_list")
_SPECIAL = ("shorthand", "field", "keyword", "label", "attribute", "property", "member", "import", "macro_definition")
_COMMENTS = {"python": "#"}
# A name that is a word of everyday language too.
_ORDINARY = re.compile(r"[a-z]{3,9}")
_DECLARED = re.compile(
    r"\b(?:let(?:\s+mut)?|var|val|auto|final|const|(?!return\b|else\b|case\b|new\b|in\b)\w+[\s*&]+)\s*\Z"
)


@dataclass(frozen=True)
class Name:
    """A name that is used for one thing only: the places where it stands, the first one binds it; `home` is the range
    of the function around them, in characters."""

    text: str
    places: tuple[int, ...]
    home: tuple[int, int]
    member: bool = False


class File:
    """A source file with its functions and the names that stand for one thing only."""

    def __init__(self, path: str, text: str) -> None:
        language = languages.of(path)
        assert language
        assert text.isascii()
        self.path, self.text, self.language = path, text, language
        source = Source(language, None)
        tree = source.update(text)
        assert tree
        self.root = tree.root_node
        self.tokens = tokens(text, source)
        self.words: defaultdict[str, list[Token]] = defaultdict(list)
        for token in self.tokens:
            if token.is_word:
                self.words[token.text].append(token)

    def functions(self) -> Iterator[Node]:
        stack = [self.root]
        while stack:
            node = stack.pop()
            if is_function(node, self.language) and node.child_by_field_name("body") and not node.has_error:
                yield node
            stack += node.children

    def parameters(self) -> list[Name]:
        """Parameters whose names stand nowhere but in their function."""
        return [name for node in self.functions() for name in self._parameters(node)]

    def _parameters(self, node: Node) -> Iterator[Name]:
        stack, found = [node], None
        body = node.child_by_field_name("body")
        assert body
        while stack:
            each = stack.pop(0)
            if each.type in _PARAMETERS:
                found = each
                break
            stack += [child for child in each.children if child != body]
        if found is None:
            return
        for word, places in self.words.items():
            code = [token for token in places if token.role not in PROSE]
            inside = [token for token in code if node.start_byte <= token.start < node.end_byte]
            if len(places) != len(code) or len(code) != len(inside) or len(code) < 2:
                continue
            first, *rest = inside
            is_parameter = found.start_byte <= first.start < found.end_byte
            if not is_parameter or any(each.start < body.start_byte for each in rest):
                continue
            if all(self._is_use(each) for each in rest) and self._is_plain(first) and not self._is_type(first):
                yield Name(word, tuple(each.start for each in inside), (node.start_byte, node.end_byte))

    def called(self) -> list[Name]:
        """Functions at the file's top that are called by their bare name, and whose name stands for nothing else."""
        found: list[Name] = []
        for node in self.functions():
            around = node.parent
            if around is None or around.parent is not None:
                continue
            head = self.text[node.start_byte : node.start_byte + 300]
            match = re.search(r"(\w+)\s*(?:<[^>]*>)?\(", head)
            places = self.words[match[1]] if match else []
            at = node.start_byte + match.start(1) if match else 0
            rest = [each for each in places if each.start != at]
            if match and rest and len(rest) + 1 == len(places) and all(self._is_use(each) for each in rest):
                home = (node.start_byte, node.end_byte)
                found.append(Name(match[1], (at, *(each.start for each in rest)), home))
        return found

    def members(self) -> list[Name]:
        """Names that stand only behind a dot."""
        found: list[Name] = []
        for word, places in self.words.items():
            behind = [self.text[each.start - 1] == "." and each.role not in PROSE for each in places]
            if all(behind) and len(places) > 1 and len(word) > 2 and word != NEW:
                found.append(Name(word, tuple(each.start for each in places), (0, 0), member=True))
        return found

    def _is_use(self, token: Token) -> bool:
        """Whether a place is the plain use of a variable: no declaration of another one, no key, no member."""
        before, after = self.text[max(0, token.start - 40) : token.start], self.text[token.end : token.end + 3]
        declared = self.language.family != "python" and _DECLARED.search(before)
        is_key = re.match(r"\s*(?::(?!=)|:=)", after) or (
            re.match(r"\s*=(?!=)", after) and re.search(r"[(,]\s*\Z", before)
        )
        return not declared and not is_key and self._is_plain(token)

    def _is_plain(self, token: Token) -> bool:
        leaf = self.root.descendant_for_byte_range(token.start, token.end)
        around = next((each for each in self.root.children if each.start_byte <= token.start < each.end_byte), None)
        if around is None or around.has_error:
            return False
        if leaf is None or leaf.type != "identifier" or leaf.end_byte != token.end or token.role in PROSE:
            return False
        is_member = self.text[: token.start].endswith((".", "->", "::", "@", "#"))
        return not is_member and not (leaf.parent and any(each in leaf.parent.type for each in _SPECIAL))

    def _is_type(self, token: Token) -> bool:
        """Whether a place is part of a type or a default value."""
        node = self.root.descendant_for_byte_range(token.start, token.end)
        while node is not None and node.type not in _PARAMETERS:
            around = node.parent
            if "type" in node.type.replace("typed", "") or (around and around.child_by_field_name("value") == node):
                return True
            node = around
        return False

    def renamed(self, name: Name, text: str) -> tuple[str, Callable[[int], int]]:
        """The file's text with another text for a name, and where an offset is in it."""
        made, at = "", 0
        for start in name.places:
            made += self.text[at:start] + text
            at = start + len(name.text)
        step = len(text) - len(name.text)
        return made + self.text[at:], lambda offset: offset + step * sum(start < offset for start in name.places)


def traps(file: File, chance: random.Random, foreign: tuple[str, str] | None = None) -> Iterator[Trap]:
    """Yield traps made from a file. `foreign` is a file of another language: a path and a text."""
    parameters, called = file.parameters(), file.called()
    chance.shuffle(parameters)
    chance.shuffle(called)
    for one in parameters:
        for other in parameters:
            if other.text != one.text and _apart(file, one, other):
                nested = one.home[0] <= other.home[0] and other.home[1] <= one.home[1]
                yield _merged(file, "shadowed" if nested else "another function's", one, other)
                break
    members = file.members()
    for one in [*parameters[:2], *called[:2]]:
        if members:
            yield _merged(file, "attribute", one, chance.choice(members))
        if _ORDINARY.fullmatch(one.text):
            yield _in_prose(file, one)
    for one in called:
        others = [each for each in parameters if _apart(file, each, one)]
        if others:
            yield _merged(file, "parameter beside a function", one, chance.choice(others))
        if foreign:
            yield _beside(file, one, foreign)


def _apart(file: File, one: Name, other: Name) -> bool:
    """Whether neither name stands in the other's function; a name without one stands anywhere."""
    inside = [at for at in one.places if other.home[0] <= at < other.home[1]]
    back = [at for at in other.places if one.home[0] <= at < one.home[1]]
    nested = one.home[0] < other.home[0] and other.home[1] < one.home[1]
    return not inside and (nested or not back)


def _trap(file: File, kind: str, text: str, places: list[int], name: str, more: dict[str, str] | None = None) -> Trap:
    first, *rest = places
    partners = frozenset((file.path, at) for at in rest)
    files = {file.path: text, **(more or {})}
    return Trap(f"{file.path}:{kind}:{name}:{first}", kind, files, file.path, first, name, NEW, partners, partners)


def _merged(file: File, kind: str, one: Name, other: Name) -> Trap:
    """`other` gets the name of `one`, which the user renames."""
    text, moved = file.renamed(other, one.text)
    return _trap(file, kind, text, [moved(at) for at in one.places], one.text)


def _in_prose(file: File, one: Name) -> Trap:
    """Comments at the file's begin and end have the name as a word."""
    mark = _COMMENTS.get(file.language.family, "//")
    note = f"{mark} There is more about {one.text} in the manual.\n"
    return _trap(file, "prose", f"{note}{file.text}\n{note}", [at + len(note) for at in one.places], one.text)


def _beside(file: File, one: Name, foreign: tuple[str, str]) -> Trap:
    """A file of another language defines and uses the name too."""
    path, text = foreign
    there = File(path, text)
    name = max(there.called(), key=lambda each: len(each.places), default=None)
    text = there.renamed(name, one.text)[0] if name else text
    return _trap(file, "another language", file.text, list(one.places), one.text, {path: text})


def usable(text: str, language: Language) -> bool:
    """Whether a file can be used: plain ASCII of middle size that can be parsed."""
    if not (language.has_definitions and text.isascii() and 1_500 < len(text) < 60_000):
        return False
    return Source(language, None).update(text) is not None
