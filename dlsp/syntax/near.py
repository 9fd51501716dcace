"""Extract the surroundings of a place as a small document, for work that would take long on a long one."""

from collections.abc import Iterator

from tree_sitter import Node, Tree

# A node's first and last child count as delimiters, such as brackets, only up to this many bytes.
_MARK = 200
_DEEPEST = 64


def near(tree: Tree, content: bytes, place: int, reach: int) -> tuple[bytes, bytes]:
    """The parts of `content` before and after the byte `place`, without siblings farther away than `reach` bytes.

    At each level of the tree, whole nodes within reach are kept, and the enclosing nodes keep their headers and
    brackets. The tree may be of an older text, if it was edited to have the positions of this one.
    """
    kept = sorted((start, end) for start, end in _kept(tree.root_node, content, place, reach) if start < end)
    before, after, at = b"", b"", 0
    for start, end in kept:
        start = max(start, at)
        at = max(end, at)
        before += content[start : min(end, place)]
        after += content[max(start, place) : end]
    return before, after


def _kept(node: Node, content: bytes, place: int, reach: int) -> Iterator[tuple[int, int]]:
    start, end = 0, len(content)  # the root node does not include surrounding blanks
    for _ in range(_DEEPEST):
        if end - start <= 2 * reach:
            yield start, end
            return
        children = _Children(node, reach)
        child = children.last_before(place)
        inner = (child.start_byte, child.end_byte) if child else (place, place)
        yield _blanks_before(content, children.start_near(inner[0] - reach, start, inner[0])), inner[0]
        yield inner[1], children.end_near(max(place, inner[1]) + reach, end)
        for mark in children.marks():
            yield _blanks_before(content, mark.start_byte), mark.end_byte
        if child is None:
            return
        node, (start, end) = child, inner
        if not node.child_count:
            break
    yield from _of_leaf(content, start, end, place, reach)


class _Children:
    """The children of a node, found by position; listing them would take long if there are many."""

    def __init__(self, node: Node, reach: int) -> None:
        self._node, self._reach = node, reach

    def last_before(self, place: int) -> Node | None:
        """The child that contains a place, else the one before it."""
        found = self._ends_after(place)
        if found is None:
            return self._node.child(self._node.child_count - 1)
        return found if found.start_byte < place else found.prev_sibling

    def start_near(self, at: int, first: int, last: int) -> int:
        """The start of the first child that extends beyond `at`; a long one is left out."""
        if at <= first:
            return first
        found = self._ends_after(at)
        if found is None or found.start_byte >= last:
            return last
        return found.start_byte if at - found.start_byte <= self._reach else min(found.end_byte, last)

    def end_near(self, at: int, last: int) -> int:
        """The end of the last child that does not extend beyond `at`."""
        found = self._ends_after(at) if at < last else None
        before = found.prev_sibling if found else None
        if found is None:
            return last
        return before.end_byte if before else found.start_byte

    def marks(self) -> list[Node]:
        """The first and the last child, if they are short."""
        ends = self._node.child(0), self._node.child(self._node.child_count - 1)
        return [child for child in ends if child and child.end_byte - child.start_byte <= _MARK]

    def _ends_after(self, at: int) -> Node | None:
        walk = self._node.walk()
        return walk.node if walk.goto_first_child_for_byte(max(0, at)) is not None else None


def _of_leaf(content: bytes, start: int, end: int, place: int, reach: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges kept of a long string or comment: its first and last line, with its delimiters, and what is
    near."""
    at = min(max(place, start), end)
    yield start, _whole(content, min(start + _MARK, content.find(b"\n", start, end) % (end + 1)))
    yield _whole(content, max(start, at - reach)), _whole(content, min(end, at + reach))
    yield _whole(content, max(end - _MARK, start, content.rfind(b"\n", start, end) + 1)), end


def _whole(content: bytes, at: int) -> int:
    """`at`, moved back to the start of a UTF-8 character."""
    while 0 < at < len(content) and content[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _blanks_before(content: bytes, at: int) -> int:
    first = max(0, at - _MARK)
    return first + len(content[first:at].rstrip())
