"""A document and its syntax tree, parsed again only where it changed."""

import time
from collections.abc import Iterator

from tree_sitter import Node, Point, Tree

from dlsp.syntax.difference import difference
from dlsp.syntax.guard import incremental, parsable
from dlsp.syntax.languages import Language
from dlsp.syntax.near import near

MOST_BYTES = 4_000_000
"""Larger documents are plain text: their first parse would take longer than a moment."""

SLOW_S, PAUSE = 0.15, 10
"""Recovery from errors can take long in a long file; after so many seconds of work follows a pause so many times as
long, in which the document counts as plain text."""
AROUND = 20_000
"""Bytes before and after a place in which errors are counted: all that counts would take long in a long file."""

LITTLE = 1_000
"""Bytes edited that do not make a tree useless as a map of the text."""


class Source:
    """The latest text of one document and its tree, None while the document is too large."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self.text = ""
        self.bytes = b""
        self.tree: Tree | None = None
        self._pause_ends = 0.0
        self._parser = language.parser()

    def update(self, text: str) -> Tree | None:
        """The tree of `text`. All that differs from the text before is taken as one edit.

        None for a too large document, and for a while after a parse that took long.
        """
        if text == self.text and self.tree:
            return self.tree
        if time.monotonic() < self._pause_ends:
            return None
        new = encoded(text)
        began = time.thread_time()  # not the clock's: a machine that stalls is no reason for a pause
        tree = self._parsed(self.tree, new)
        took = time.thread_time() - began
        if took > SLOW_S and self.tree:
            self._pause_ends = time.monotonic() + PAUSE * took
        self.tree, self.text, self.bytes = tree, text, new
        return tree

    def imagined(self, new: bytes) -> Tree | None:
        """The tree that the document would have with the content `new`; nothing is kept of it."""
        return self._parsed(self.tree.copy() if self.tree else None, new)

    def around(self, before: str, after: str, reach: int) -> "tuple[Source, str, str] | None":
        """The surroundings of a place as a document of their own, and what stands in it before and after the place
        (see `near`).

        By the tree that is there, if little was edited since. None for a document without a tree, but for one that
        may not be parsed as a whole: of that, the lines in reach.
        """
        new = encoded(before + after)
        places = difference(self.bytes, new)
        if self.tree is None or max(places) - places[0] > LITTLE:
            if self.update(before + after) is None:
                return None if parsable(self.language, new) else self._lines_around(before, after, reach)
            places = len(new), len(new), len(new)
        assert self.tree
        tree = self.tree.copy()
        _edit(tree, self.bytes, new, places)
        left, right = (each.decode("utf-8", "replace") for each in near(tree, new, len(encoded(before)), reach))
        part = Source(self.language)
        part.update(left + right)
        return part, left, right

    def errors(self, tree: Tree | None, at: int) -> int:
        """How many places around the byte `at` of the tree do not parse."""
        if tree is None or not tree.root_node.has_error:
            return 0
        found, broken = 0, [tree.root_node]
        while broken:
            for child in _between(broken.pop(), max(0, at - AROUND), at + AROUND):
                found += child.is_error or child.is_missing
                broken += [child] if child.has_error else []
        return found + tree.root_node.is_error

    def _lines_around(self, before: str, after: str, reach: int) -> "tuple[Source, str, str] | None":
        """The whole lines of at most `reach` characters before and after a place, as a document of their own."""
        left, right = before[-reach:], after[:reach]
        left = left if len(before) <= reach else left[left.find("\n") + 1 :]
        right = right if len(after) <= reach else right[: right.rfind("\n") + 1]
        part = Source(self.language)
        return (part, left, right) if part.update(left + right) else None

    def _parsed(self, tree: Tree | None, new: bytes) -> Tree | None:
        if len(new) > MOST_BYTES or not parsable(self.language, new):
            return None
        if tree and incremental(self.language):
            _edit(tree, self.bytes, new, difference(self.bytes, new))
            return self._parser.parse(new, tree)
        return self._parser.parse(new)


def encoded(text: str) -> bytes:
    """UTF-8, with `?` for what it cannot carry (lone surrogates)."""
    return text.encode("utf-8", "replace")


def _edit(tree: Tree, old: bytes, new: bytes, places: tuple[int, int, int]) -> None:
    """Move the places in a tree of `old` to where they are in `new`, whose `difference` is given."""
    start, old_end, new_end = places
    at = _point(old, start)
    tree.edit(start, old_end, new_end, at, _from(at, old, start, old_end), _from(at, new, start, new_end))


def _between(node: Node, start: int, end: int) -> Iterator[Node]:
    """The children of `node` that reach into `[start, end]`; a list of all could be long."""
    walk = node.walk()
    more = walk.goto_first_child_for_byte(start) is not None
    while more and walk.node and walk.node.start_byte <= end:
        yield walk.node
        more = walk.goto_next_sibling()


def _point(content: bytes, at: int) -> Point:
    return Point(content.count(b"\n", 0, at), at - (content.rfind(b"\n", 0, at) + 1))


def _from(start: Point, content: bytes, begin: int, end: int) -> Point:
    rows = content.count(b"\n", begin, end)
    column = end - (content.rfind(b"\n", begin, end) + 1) if rows else start.column + end - begin
    return Point(start.row + rows, column)
