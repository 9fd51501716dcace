"""A document and its syntax tree, updated incrementally."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tree_sitter import Node, Parser, Point, Tree

from dlsp.syntax.difference import difference
from dlsp.syntax.guard import incremental, parsable
from dlsp.syntax.languages import Language
from dlsp.syntax.near import near
from dlsp.syntax.rehearsal import PARSE_S, SMALL_BYTES, Outcome, Part, Rehearsal

# Larger documents count as plain text: their first parse would take too long.
MAX_TREE_BYTES = 4_000_000

# Error recovery can take long in a long file. After a parse of more than SLOW_PARSE_S seconds, the document counts as
# plain text for PAUSE_PER_PARSE times as long.
SLOW_PARSE_S, PAUSE_PER_PARSE = 0.15, 10
# Bytes before and after a place in which errors are counted; counting all would take long in a long file.
CHECKED_BYTES = 20_000

# After an edit of at most this many bytes, an old tree still shows where things are, and a text whose parse took too
# long still counts as the same text.
SMALL_EDIT_BYTES = 1_000
# Seconds after which a document that took too long is tried again, because the machine may have been busy.
RETRY_S = 60

# Bytes that the parser reads at once; a power of two.
CHUNK_BYTES = 16_384

# Parses a content, given an older tree or None. Returns None if that took too long.
Parse = Callable[[bytes, Tree | None], Tree | None]

# One child for all documents of this process.
SHARED = Rehearsal()


class Source:
    """The latest text of a document and its tree, which is None while the document counts as plain text.

    It does so if it is too large, if the grammar could crash on it, and for a while after a parse took too long (after
    the first parse: until the text has changed a lot, or for RETRY_S). Only small documents are parsed without a
    `rehearsal`; if that is None, all are. `parse` replaces the language's parser.
    """

    def __init__(self, language: Language, rehearsal: Rehearsal | None = SHARED, parse: Parse | None = None) -> None:
        self.language = language
        self.text = ""
        self.bytes = b""
        self.tree: Tree | None = None
        self._pause_ends = 0.0
        self._failed: bytes | None = None
        self._again_at = 0.0
        self._rehearsal, self._part = rehearsal, Part(language.name)
        self._parse = parse or partial(parsed, language.parser())

    def update(self, text: str) -> Tree | None:
        """The tree of `text`, None for plain text. The difference from the previous text is treated as one edit."""
        if text == self.text and self.tree:
            return self.tree
        if time.monotonic() < self._pause_ends:
            return None
        new = encoded(text)
        if (
            self._failed is not None
            and _edited(self._failed, new) <= SMALL_EDIT_BYTES
            and time.monotonic() < self._again_at
        ):
            return None
        began = time.thread_time()  # CPU time, so that a stalled machine causes no pause
        outcome, tree = self._parsed(new, keep=True)
        took = time.thread_time() - began
        if outcome is Outcome.AWAY:
            return None
        passed = outcome is Outcome.PASSED
        if self.tree and (took > SLOW_PARSE_S or not passed):
            self._pause_ends = time.monotonic() + PAUSE_PER_PARSE * max(took, 0 if passed else PARSE_S)
        if not passed and not self.tree:
            self._failed, self._again_at = new, time.monotonic() + RETRY_S
        else:
            self._failed = None
        if passed:
            self.tree, self.text, self.bytes = tree, text, new
        return tree

    def imagined(self, new: bytes) -> Tree | None:
        """The tree that the document would have with the content `new`, which is not stored."""
        return self._parsed(new, keep=False)[1]

    def around(self, before: str, after: str, reach: int) -> tuple[str, str] | None:
        """The surroundings of a place as a short document: its text before and after the place (see `near`).

        Uses the present tree if little was edited since. None for plain text; for a document that may only not be
        parsed as a whole, the whole lines within `reach` are used.
        """
        new = encoded(before + after)
        places = difference(self.bytes, new)
        if self.tree is None or _edited(self.bytes, new) > SMALL_EDIT_BYTES:
            if self.update(before + after) is None:
                return None if parsable(self.language, new) else _lines_around(before, after, reach)
            places = len(new), len(new), len(new)
        assert self.tree
        tree = self.tree.copy()
        edit(tree, self.bytes, new, places)
        left, right = near(tree, new, len(encoded(before)), reach)
        return left.decode("utf-8", "replace"), right.decode("utf-8", "replace")

    def errors(self, tree: Tree | None, at: int) -> int:
        """The number of syntax errors in the tree within CHECKED_BYTES bytes of the byte `at`."""
        if tree is None or not tree.root_node.has_error:
            return 0
        found, broken = 0, [tree.root_node]
        while broken:
            for child in _between(broken.pop(), max(0, at - CHECKED_BYTES), at + CHECKED_BYTES):
                found += child.is_error or child.is_missing
                broken += [child] if child.has_error else []
        return found + tree.root_node.is_error

    def _parsed(self, new: bytes, *, keep: bool) -> tuple[Outcome, Tree | None]:
        """The outcome of the parse, and the tree, which is None for plain text."""
        if len(new) > MAX_TREE_BYTES or not parsable(self.language, new):
            return Outcome.PASSED, None
        places = difference(self.bytes, new) if self.tree and incremental(self.language) else None
        if self._rehearsal and max(len(new), len(self.bytes) if places else 0) > SMALL_BYTES:
            outcome = self._rehearsal.parse(self._part, new, places, keep)
            if outcome is Outcome.UNKNOWN:
                places, outcome = None, self._rehearsal.parse(self._part, new, None, keep)
            if outcome is not Outcome.PASSED:
                return outcome, None
        old = None
        if self.tree and places:
            old = self.tree if keep else self.tree.copy()
            edit(old, self.bytes, new, places)
        made = self._parse(new, old)
        return (Outcome.PASSED if made else Outcome.FAILED), made


def parsed(
    parser: Parser, content: bytes, old: Tree | None = None, stop: Callable[[], bool] = lambda: False
) -> Tree | None:
    """The tree of `content`, made from an older one if there is one; None once `stop()` is true.

    Take a node's text from `content`: `Node.text` would read through the callback below and crash the interpreter.
    Parsing holds the interpreter's lock, except during `stop` and while it reads: there other threads get their turn.
    """
    read = partial(_piece, content)

    def progress(_offset: int, _has_error: bool) -> bool:
        return stop()

    try:
        if old is None:
            return parser.parse(read, progress_callback=progress)
        return parser.parse(read, old, progress_callback=progress)
    except ValueError:  # the callback stopped it
        return None


class _Buffers(threading.local):
    """The buffers in which this thread gives content to parsers, by size.

    The library (0.26.1) never lets go of an object that it has read from. So each parse reads from the same few, which
    are filled anew for each piece.
    """

    def __init__(self) -> None:
        self._by_size: dict[int, bytearray] = {}

    def filled(self, content: bytes, at: int) -> bytearray:
        """The bytes from `at` on: so many that their number is a power of two, at most CHUNK_BYTES."""
        left = len(content) - at
        size = min(CHUNK_BYTES, 1 << (left.bit_length() - 1)) if left > 0 else 0
        buffer = self._by_size.setdefault(size, bytearray(size))
        buffer[:] = content[at : at + size]
        return buffer


_BUFFERS = _Buffers()


def _piece(content: bytes, at: int, _: object) -> Any:  # the library takes any buffer, its types know bytes only
    return _BUFFERS.filled(content, at)


def _lines_around(before: str, after: str, reach: int) -> tuple[str, str]:
    """The whole lines within `reach` characters before and after a place."""
    left, right = before[-reach:], after[:reach]
    left = left if len(before) <= reach else left[left.find("\n") + 1 :]
    right = right if len(after) <= reach else right[: right.rfind("\n") + 1]
    return left, right


def _edited(old: bytes, new: bytes) -> int:
    """The number of bytes that differ, treated as one edit."""
    places = difference(old, new)
    return max(places) - places[0]


def encoded(text: str) -> bytes:
    """`text` in UTF-8, with `?` for lone surrogates, which it cannot encode."""
    return text.encode("utf-8", "replace")


def edit(tree: Tree, old: bytes, new: bytes, places: tuple[int, int, int]) -> None:
    """Shift the positions in a tree of `old` to those in `new`; `places` is their `difference`."""
    start, old_end, new_end = places
    at = _point(old, start)
    tree.edit(start, old_end, new_end, at, _from(at, old, start, old_end), _from(at, new, start, new_end))


def _between(node: Node, start: int, end: int) -> Iterator[Node]:
    """Yield the children of `node` that overlap `[start, end]`; a list of all could be long."""
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
