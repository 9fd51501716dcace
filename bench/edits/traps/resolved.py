"""Traps whose truth a language's own tool knows: real projects of several files, and the names in them as they are."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath

from tree_sitter import Node

from bench.edits.traps.merged import NEW
from bench.edits.traps.oracles import Oracle
from bench.edits.traps.trap import Place, Trap
from dlsp.edits.search.tokens import PROSE, TOKEN, WORD, tokens
from dlsp.syntax import languages
from dlsp.syntax.source import Source

# A trap has at most so many partners, and at least so many other places of its name.
MAX_PARTNERS, MIN_OTHERS = 40, 2
MAX_FILES_CONCERNED = 10
_DEFINED = {
    "function": ("function_definition", "function_declaration", "generator_function_declaration"),
    "class": ("class_definition", "class_declaration", "interface_declaration", "abstract_class_declaration"),
    "method": ("method_definition", "method_signature"),
    "parameter": ("parameters", "formal_parameters", "required_parameter", "optional_parameter", "default_parameter",
                  "typed_parameter", "typed_default_parameter"),
    "variable": ("assignment", "variable_declarator"),
}  # fmt: skip
_BOUND = r"\b{0}\s*(?::[^=\n]+)?(?:[-+*/|&]?=(?!=)|,.*=(?!=)|\bin\b)|\bas {0}\b"
_TURNS = ("parameter", "function", "variable", "parameter", "class", "method")


def traps(
    files: dict[str, str], omitted: Iterable[str], oracle: Oracle, chance: random.Random, most: int
) -> Iterator[Trap]:
    """Yield at most `most` traps in the files of a project, of names that are not in its `omitted` texts."""
    elsewhere = {word for text in omitted for word in TOKEN.findall(text)}
    where: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path, text in files.items():
        for word in TOKEN.findall(text):
            if WORD.fullmatch(word):
                where[word][path] += 1
    found: defaultdict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for path, text in files.items():
        for kind, at, name in _definitions(path, text):
            if (
                len(name) > 2
                and sum(where[name].values()) >= MIN_OTHERS + 2
                and name not in elsewhere
                and name[:2] != "__"
            ):
                found[kind].append((path, at, name))
    for each in found.values():
        chance.shuffle(each)
    made, seen = 0, set[str]()
    for kind in islice((kind for _ in range(400) for kind in _TURNS), 2_400):
        if made == most:
            return
        if not found[kind]:
            continue
        path, at, name = found[kind].pop()
        if name in seen:
            continue
        same = oracle.same(path, at)
        if same is None or (path, at) not in same:
            continue
        if trap := _trap(files, kind, (path, at), name, same - {(path, at)}):
            seen.add(name)
            made += 1
            yield trap


def _trap(files: dict[str, str], kind: str, place: Place, name: str, partners: set[Place]) -> Trap | None:
    path, at = place
    if any(files[there][start : start + len(name)] != name for there, start in partners):
        return None
    concerned = [there for there, text in files.items() if re.search(rf"\b{name}\b", text)]
    others = sum(len(re.findall(rf"\b{name}\b", files[there])) for there in concerned) - len(partners) - 1
    if not partners or len(partners) > MAX_PARTNERS or others < MIN_OTHERS or len(concerned) > MAX_FILES_CONCERNED:
        return None
    here = {there: files[there] for there in {path, *concerned}}
    prose = {place for there, text in here.items() for place in _prose(there, text, name)}
    # Whether a variable that is bound several times is meant as a whole is the user's choice.
    is_open = kind == "variable" and len(re.findall(_BOUND.format(name), files[path])) > 1
    decided = {each for each in partners - prose if not is_open and _is_decided(files, each, name)}
    if kind == "method":
        home = _class_around(path, files[path], at)
        decided = {(there, start) for there, start in decided if there == path and home[0] <= start < home[1]}
    # A module that imports the name has it as a member, which the tools do not always follow.
    modules = {PurePath(there).stem for there, _ in partners}
    members = {place for there, text in here.items() for place in _members(there, text, name, modules)}
    unknown = (prose | members) - partners
    ident = f"{path}:{kind}:{name}:{at}"
    sets = frozenset(partners), frozenset(decided), frozenset(unknown)
    return Trap(ident, kind, here, path, at, name, NEW, *sets)


def _members(path: str, text: str, name: str, modules: set[str]) -> Iterator[Place]:
    for match in re.finditer(rf"\b(\w+)\.{name}\b", text):
        if match[1] in modules:
            yield path, match.end() - len(name)


def _class_around(path: str, text: str, at: int) -> tuple[int, int]:
    """The range of the class around a place; an empty one if there is none."""
    language = languages.of(path)
    tree = Source(language, None).update(text) if language else None
    node = tree.root_node.descendant_for_byte_range(at, at) if tree else None
    while node is not None and node.type not in _DEFINED["class"]:
        node = node.parent
    return (node.start_byte, node.end_byte) if node else (0, 0)


def _prose(path: str, text: str, name: str) -> Iterator[Place]:
    """Yield the places of a name in strings and comments, which a language's tool does not judge."""
    language = languages.of(path)
    for token in tokens(text, Source(language, None) if language else None):
        if token.text == name and token.role in PROSE:
            yield path, token.start


def _is_decided(files: dict[str, str], place: Place, name: str) -> bool:
    """Whether no type has to be known for a place: it is no member but of `self`, and no keyword."""
    path, start = place
    before, after = files[path][max(0, start - 80) : start], files[path][start + len(name) : start + len(name) + 4]
    if before.endswith((".", "->")):
        return before.endswith(("self.", "this.", "cls."))
    is_keyword = re.match(r"\s*=(?!=)", after) and re.search(r"[(,]\s*\Z", before)
    return not is_keyword


def _definitions(path: str, text: str) -> Iterator[tuple[str, int, str]]:
    language = languages.of(path)
    source = Source(language, None) if language else None
    tree = source.update(text) if source else None
    stack: list[tuple[Node, bool]] = [(tree.root_node, False)] if tree else []
    while stack:
        node, in_class = stack.pop()
        parent = node.parent
        if node.type in ("identifier", "type_identifier", "property_identifier") and parent:
            kind = next((kind for kind, types in _DEFINED.items() if parent.type in types), "")
            first = parent.child_by_field_name("name") or parent.child_by_field_name("left") or parent.child(0)
            is_one = first == node or parent.type in ("parameters", "formal_parameters")
            if kind and is_one:
                kind = "method" if kind == "function" and in_class else kind
                yield kind, node.start_byte, text[node.start_byte : node.end_byte]
        inner = in_class
        if node.type in (*_DEFINED["class"], "function_definition", "function_declaration"):
            inner = node.type in _DEFINED["class"]
        named = node.child_by_field_name("name")
        stack += [(child, in_class if child == named else inner) for child in reversed(node.children)]
