"""A document and its syntax tree, parsed again only where it changed."""

import time
from collections.abc import Iterator

from tree_sitter import Node, Point, Tree

from dlsp.syntax.difference import difference
from dlsp.syntax.guard import incremental, parsable
from dlsp.syntax.languages import Language
from dlsp.syntax.near import near
from dlsp.syntax.rehearsal import PARSE_S, SMALL_BYTES, Outcome, Part, Rehearsal

# Larger documents are plain text: their first parse would take longer than a moment.
MOST_BYTES = 4_000_000

# Recovery from errors can take long in a long file; after so many seconds of work follows a pause so many times as
# long, in which the document counts as plain text.
SLOW_S, PAUSE = 0.15, 10
# Bytes before and after a place in which errors are counted: all that counts would take long in a long file.
AROUND = 20_000

# Bytes edited that do not make a tree useless as a map of the text, nor a text that took too long another one.
LITTLE = 1_000
# Seconds after which a document that took too long is tried again: the machine may have been busy.
AGAIN_S = 60

# One child for all documents of this process.
SHARED = Rehearsal()


class Source:
    """The latest text of one document and its tree, None while the document counts as plain text.

    It does so where it is too large, for a while where its parse takes too long (if it was the first, until much of it
    has changed, or a longer while), and where the grammar could crash. Nothing that is not small is parsed here before
    `rehearsal` parsed it in time; with None everything is parsed here at once.
    """

    def __init__(self, language: Language, rehearsal: Rehearsal | None = SHARED) -> None:
        self.language = language
        self.text = ""
        self.bytes = b""
        self.tree: Tree | None = None
        self._pause_ends = 0.0
        self._failed: bytes | None = None
        self._again_at = 0.0
        self._rehearsal, self._part = rehearsal, Part(language.name)
        self._parser = language.parser()

    def update(self, text: str) -> Tree | None:
        """The tree of `text`. All that differs from the text before is taken as one edit."""
        if text == self.text and self.tree:
            return self.tree
        if time.monotonic() < self._pause_ends:
            return None
        new = encoded(text)
        if self._failed is not None and _edited(self._failed, new) <= LITTLE and time.monotonic() < self._again_at:
            return None
        began = time.thread_time()  # not the clock's: a machine that stalls is no reason for a pause
        outcome, tree = self._parsed(new, keep=True)
        took = time.thread_time() - began
        if outcome is Outcome.AWAY:
            return None
        passed = outcome is Outcome.PASSED
        if self.tree and (took > SLOW_S or not passed):
            self._pause_ends = time.monotonic() + PAUSE * max(took, 0 if passed else PARSE_S)
        if not passed and not self.tree:
            self._failed, self._again_at = new, time.monotonic() + AGAIN_S
        else:
            self._failed = None
        if passed:
            self.tree, self.text, self.bytes = tree, text, new
        return tree

    def imagined(self, new: bytes) -> Tree | None:
        """The tree that the document would have with the content `new`; nothing is kept of it."""
        return self._parsed(new, keep=False)[1]

    def around(self, before: str, after: str, reach: int) -> "tuple[Source, str, str] | None":
        """The surroundings of a place as a document of their own, and what stands in it before and after the place
        (see `near`).

        By the tree that is there, if little was edited since. None for a document without a tree, but for one that
        may not be parsed as a whole: of that, the lines in reach.
        """
        new = encoded(before + after)
        places = difference(self.bytes, new)
        if self.tree is None or _edited(self.bytes, new) > LITTLE:
            if self.update(before + after) is None:
                return None if parsable(self.language, new) else self._lines_around(before, after, reach)
            places = len(new), len(new), len(new)
        assert self.tree
        tree = self.tree.copy()
        edit(tree, self.bytes, new, places)
        left, right = (each.decode("utf-8", "replace") for each in near(tree, new, len(encoded(before)), reach))
        part = Source(self.language, self._rehearsal)
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
        part = Source(self.language, self._rehearsal)
        return (part, left, right) if part.update(left + right) else None

    def _parsed(self, new: bytes, *, keep: bool) -> tuple[Outcome, Tree | None]:
        """How the parse went, and the tree, None for what is plain text."""
        if len(new) > MOST_BYTES or not parsable(self.language, new):
            return Outcome.PASSED, None
        places = difference(self.bytes, new) if self.tree and incremental(self.language) else None
        if self._rehearsal and max(len(new), len(self.bytes) if places else 0) > SMALL_BYTES:
            outcome = self._rehearsal.parse(self._part, new, places, keep)
            if outcome is Outcome.UNKNOWN:
                places, outcome = None, self._rehearsal.parse(self._part, new, None, keep)
            if outcome is not Outcome.PASSED:
                return outcome, None
        if self.tree is None or places is None:
            return Outcome.PASSED, self._parser.parse(new)
        tree = self.tree if keep else self.tree.copy()
        edit(tree, self.bytes, new, places)
        return Outcome.PASSED, self._parser.parse(new, tree)


def _edited(old: bytes, new: bytes) -> int:
    """How many bytes differ, taken as one edit."""
    places = difference(old, new)
    return max(places) - places[0]


def encoded(text: str) -> bytes:
    """UTF-8, with `?` for what it cannot carry (lone surrogates)."""
    return text.encode("utf-8", "replace")


def edit(tree: Tree, old: bytes, new: bytes, places: tuple[int, int, int]) -> None:
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
