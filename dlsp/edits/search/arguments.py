"""Sites of an argument or parameter that the edit added: the other calls of the function, and its definition."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from dlsp.edits.history.edit import Edit
from dlsp.edits.search.binding import Binding, Verdict
from dlsp.edits.search.page import Page, Site, in_time
from dlsp.edits.search.rules import Rule
from dlsp.edits.search.tokens import PROSE
from dlsp.syntax.source import Source, encoded

# Log odds of a call that lacks what the definition needs: where it certainly calls the function, and where it may. The
# latter are only shown if the model agrees.
NEEDED_ODDS, DOUBTED_ODDS = 2.0, -0.5
# How many nodes above a function's name its call or definition may begin.
_MAX_CLIMB_NODES = 4
_CALLED_FIELDS = ("function", "name", "constructor", "type", "macro")
# Parameters that need no argument, and arguments that stand for any number of them; by parts of the node's type.
_OPTIONAL = ("default", "optional", "splat", "variadic", "rest", "spread")
_MANY = ("splat", "spread", "variadic")
_RECEIVERS = ("self", "cls", "&self", "&mut self", "mut self", "this")
# Language families in which a parameter needs no type.
_UNTYPED = ("python", "javascript")


@dataclass(frozen=True)
class _Parts:
    """The arguments of a call or the parameters of a definition; `node` is the list around them."""

    node: Node
    is_call: bool
    nodes: tuple[Node, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Added:
    """The edit added `text` to the function `name` as its argument number `index`, from 0, of now `count`.

    `keyword`: it is given by its name only. `is_call`: it was added to a call, and the definition lacks it.
    """

    name: str
    index: int
    count: int
    text: str
    keyword: str
    is_call: bool


def added(edit: Edit, own: Page, until: float = math.inf) -> list[Added]:
    """The arguments and parameters that the edit added. What a call was given counts more than a parameter's name."""
    source = Source(own.language) if own.language and own.language.has_definitions else None
    tree = source.update(edit.text) if source else None
    now = own.source.update(own.text) if own.source else None
    if source is None or tree is None or now is None or own.source is None:
        return []
    found: dict[str, Added] = {}
    for hunk, (first, last) in zip(edit.hunks, own.edited, strict=True):
        start, end = len(encoded("".join(edit.before[: hunk.start]))), len(encoded("".join(edit.before[: hunk.end])))
        old = list(_lists(tree.root_node, source.bytes, start, end))
        start, end = (len(encoded(own.text[: own.starts[row]])) for row in (first, last))
        for name, after in in_time(list(_lists(now.root_node, own.source.bytes, start, end)), until):
            before = next((parts for other, parts in old if other == name and parts.is_call == after.is_call), None)
            if before is None:
                continue
            old.remove((name, before))
            one = _difference(name, before, after, own)
            known = found.get(name)
            if one and known and known.is_call != one.is_call:
                # The definition says that it is needed, the call what is given.
                found[name] = replace(one if one.is_call else known, is_call=False)
            elif one:
                found.setdefault(name, one)
    return list(found.values())


def _difference(name: str, before: _Parts, after: _Parts, own: Page) -> Added | None:
    """What was added to a list; None if it did not grow by exactly one part."""
    if len(after.texts) != len(before.texts) + 1:
        return None
    index = next((at for at, text in enumerate(before.texts) if after.texts[at] != text), len(before.texts))
    if after.texts[index + 1 :] != before.texts[index:] or not after.texts[index]:
        return None
    node, text, texts = after.nodes[index], after.texts[index], before.texts
    if after.is_call:
        keyword = _keyword(text)
        is_many = any(part in node.type for part in _MANY)
        return None if is_many else Added(name, index, len(texts) + 1, text, keyword, True)
    parameter = own.names.binds_in(node) if own.names else ""
    if not parameter or any(part in node.type for part in _OPTIONAL) or node.child_by_field_name("value"):
        return None
    receivers = sum(each in _RECEIVERS for each in texts[:1])
    by_name = any(each in ("*",) or re.match(r"\*\w", each) for each in texts[:index])
    keyword = parameter if by_name else ""
    given = f"{parameter}={parameter}" if by_name else parameter
    return Added(name, index - receivers, len(texts) + 1 - receivers, given, keyword, False)


def lacking(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Site]:
    """Yield the calls, and the definition, that lack what the edit added. None of them is certain.

    What was added to a call only is not added to others, unless a definition is found that lacks it: a function that
    has it already is called without it on purpose.
    """
    for one in added(edit, own, until):
        binding = Binding(Rule("rename", (one.name,), one.name, "called", pure=True, only=True), own, until, pages)
        found: list[tuple[bool, Site]] = []
        for page in in_time(pages, until):
            for token in page.tokens:
                if token.text != one.name or token.role in PROSE or page.is_edited_at(token.start):
                    continue
                meant = binding.meaning(page, token.start)
                sure = meant is not Verdict.OPEN or binding.at(page, token.start) == "same meaning"
                if meant is not Verdict.REFUSED:
                    found += _site(one, page, token.start, NEEDED_ODDS if sure else DOUBTED_ODDS)
        if not one.is_call or not all(is_call for is_call, _ in found):
            yield from (site for _, site in found)


def _site(one: Added, page: Page, offset: int, odds: float) -> Iterator[tuple[bool, Site]]:
    """Yield whether a place is a call, and the site that adds what it lacks."""
    tree = page.source.update(page.text) if page.source else None
    if tree is None or page.source is None:
        return
    leaf = tree.root_node.descendant_for_byte_range(*_bytes(page.text, offset, one.name))
    parts = _parts(leaf, page.source.bytes) if leaf else None
    if parts is None or (not parts.is_call and not one.is_call):
        return
    text, index = one.text, one.index
    if not parts.is_call:
        text = one.keyword or one.text
        index += sum(each in _RECEIVERS for each in parts.texts[:1])
        family = page.language.family if page.language else ""
        if family not in _UNTYPED or not text.isidentifier():
            return
    if text in parts.texts or any(part in each.type for each in parts.nodes for part in _MANY if parts.is_call):
        return
    positional = [each for each in parts.texts if not _keyword(each)]
    if one.keyword:
        if any(_keyword(each) == one.keyword for each in parts.texts):
            return
        index = len(parts.texts)
    elif index > len(positional) or len(parts.texts) >= one.count + (not parts.is_call):
        return
    at, new = _insertion(parts, index, text)
    character = len(page.source.bytes[:at].decode("utf-8", "replace"))
    row = page.row(character)
    line, column = page.lines[row], character - page.starts[row]
    if not page.is_edited(row, row + 1):
        yield parts.is_call, Site(page, row, (line,), (line[:column] + new + line[column:],), odds)


def _insertion(parts: _Parts, index: int, text: str) -> tuple[int, str]:
    """Where in the document, in bytes, which text makes `text` part number `index` of the list."""
    if index:
        return parts.nodes[index - 1].end_byte, f", {text}"
    return parts.node.start_byte + 1, f"{text}, " if parts.nodes else text


def _keyword(text: str) -> str:
    found = re.match(r"(\w+)\s*=(?!=)", text)
    return found[1] if found else ""


def _lists(root: Node, content: bytes, start: int, end: int) -> Iterator[tuple[str, _Parts]]:
    """Yield the calls and definitions whose names stand between two bytes, with their names."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.end_byte <= start or node.start_byte >= end:
            continue
        if not node.child_count and "identifier" in node.type and (parts := _parts(node, content)):
            yield content[node.start_byte : node.end_byte].decode("utf-8", "replace"), parts
        stack += reversed(node.children)


def _parts(leaf: Node, content: bytes) -> _Parts | None:
    """The list of the call or definition that a name stands for; None for any other place."""
    node = leaf.parent
    for _ in range(_MAX_CLIMB_NODES):
        if node is None:
            return None
        for field in ("arguments", "parameters"):
            found = node.child_by_field_name(field)
            named = [child for each in (*_CALLED_FIELDS, "declarator") if (child := node.child_by_field_name(each))]
            if found and any(child.end_byte == leaf.end_byte for child in named):
                nodes = tuple(child for child in found.named_children if "comment" not in child.type)
                texts = tuple(content[each.start_byte : each.end_byte].decode("utf-8", "replace") for each in nodes)
                return _Parts(found, field == "arguments", nodes, texts)
        if node.end_byte != leaf.end_byte:
            return None
        node = node.parent
    return None


def _bytes(text: str, offset: int, name: str) -> tuple[int, int]:
    start = len(encoded(text[:offset]))
    return start, start + len(encoded(name))
