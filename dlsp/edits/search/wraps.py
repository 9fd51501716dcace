"""Sites of a call that the edit put something around: another call, `await`, a method on what it returns."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from dlsp.edits.history.edit import Edit
from dlsp.edits.search.calls import Place, character, lists, places
from dlsp.edits.search.page import Page, Site
from dlsp.syntax.source import encoded

# Log odds of another call of the same function, where it certainly is that and where it may be: in the training edits
# three of seven such calls follow.
SAME_ODDS, MAYBE_ODDS = -0.3, -1.0
# Functions without a name, and blocks that may wait, by parts of the node's type.
_UNNAMED = ("arrow", "closure", "lambda", "async", "function_expression")
# How many nodes above a call its function may begin.
_MAX_CLIMB_NODES = 200
# What may stand before a call that is wrapped, and behind it.
_BEFORE, _BEHIND = re.compile(r"(?:[\w.:]+[!?]?\(|[\w.]+ |[&*!-])*"), re.compile(r"\)*[\w.?!()]*")


@dataclass(frozen=True)
class Wrap:
    """The edit put `before` and `behind` around the calls of the function `name` in its lines."""

    name: str
    before: str
    behind: str

    @property
    def is_await(self) -> bool:
        return self.before.endswith("await ") or self.behind.startswith(".await")


def wraps(edit: Edit, own: Page) -> list[Wrap]:
    """What the edit put around calls, where it did nothing else."""
    source = own.new_source() if own.language and own.language.has_definitions else None
    tree = source.update(edit.text) if source else None
    if source is None or tree is None:
        return []
    found: list[Wrap] = []
    for hunk, (first, last) in zip(edit.hunks, own.edited, strict=True):
        base = len(encoded("".join(edit.before[: hunk.start])))
        old, new = encoded("".join(edit.before[hunk.start : hunk.end])), encoded("".join(own.lines[first:last]))
        if len(new) <= len(old):
            continue
        calls: dict[str, list[tuple[int, int]]] = {}
        for name, parts in lists(tree.root_node, source.bytes, base, base + len(old)):
            around = parts.around
            if parts.is_call and base <= around.start_byte and around.end_byte <= base + len(old):
                calls.setdefault(name, []).append((around.start_byte - base, around.end_byte - base))
        found += [made for name, spans in calls.items() if (made := _around(name, spans, old, new))]
    return found


def _around(name: str, spans: list[tuple[int, int]], old: bytes, new: bytes) -> Wrap | None:
    """What turns the old lines into the new ones if it is put around all these calls; None if nothing does."""
    start, end = min(spans)
    extra, rest = divmod(len(new) - len(old), len(spans))
    call = new.find(old[start:end], start)
    if rest or call < 0 or not new.startswith(old[:start]) or call - start > extra:
        return None
    before, behind = new[start:call], new[call + end - start : end + extra]
    if _wrapped(old, spans, before, behind) != new or b"\n" in before + behind:
        return None
    texts = before.decode("utf-8", "replace"), behind.decode("utf-8", "replace")
    return Wrap(name, *texts) if _BEFORE.fullmatch(texts[0]) and _BEHIND.fullmatch(texts[1]) else None


def _wrapped(text: bytes, spans: Sequence[tuple[int, int]], before: bytes, behind: bytes) -> bytes:
    """The text with something put around each of the spans, which may lie within each other."""
    put = [(start, 1, before) for start, _ in spans] + [(end, 0, behind) for _, end in spans]
    made, at = b"", 0
    for place, _, each in sorted(put, key=lambda one: one[:2]):
        made += text[at:place] + each
        at = place
    return made + text[at:]


def wrapped(edit: Edit, own: Page, pages: Sequence[Page], until: float = math.inf) -> Iterator[Site]:
    """Yield the lines with other calls of a function whose calls the edit put something around. None is certain."""
    for wrap in wraps(edit, own):
        rows: dict[tuple[str, int], list[Place]] = {}
        for place in places(wrap.name, own, pages, until):
            if place.parts.is_call:
                row = place.page.row(character(place.page, place.parts.around.start_byte))
                rows.setdefault((place.page.uri, row), []).append(place)
        for found in rows.values():
            if site := _site(wrap, found):
                yield site


def _site(wrap: Wrap, found: Sequence[Place]) -> Site | None:
    """The site of the calls that begin in the same row; None if one of them is wrapped already."""
    page, arounds = found[0].page, [place.parts.around for place in found]
    spans = [(character(page, each.start_byte), character(page, each.end_byte)) for each in arounds]
    first, last = page.row(spans[0][0]), page.row(max(end for _, end in spans) - 1) + 1
    base, end = page.starts[first], page.starts[last]
    if page.is_edited(first, last) or any(_has(wrap, page.text, *span) for span in spans):
        return None
    if wrap.is_await and not all(_may_await(each, page) for each in arounds):
        return None
    text = page.text[base:end]
    inside = [(len(encoded(text[: start - base])), len(encoded(text[: stop - base]))) for start, stop in spans]
    new = _wrapped(encoded(text), inside, encoded(wrap.before), encoded(wrap.behind))
    odds = SAME_ODDS if all(place.is_sure for place in found) else MAYBE_ODDS
    lines = tuple(new.decode("utf-8", "replace").splitlines(keepends=True))
    return Site(page, first, tuple(page.lines[first:last]), lines, odds)


def _may_await(call: Node, page: Page) -> bool:
    """Whether a call stands in an asynchronous function, or in none."""
    assert page.source
    node, functions = call.parent, page.source.language.functions
    for _ in range(_MAX_CLIMB_NODES):
        if node is None:
            return True
        if node.type in functions or any(part in node.type for part in _UNNAMED):
            break
        node = node.parent
    body = node.child_by_field_name("body") if node else None
    head = page.source.bytes[node.start_byte : body.start_byte if body else node.end_byte] if node else b""
    return re.search(rb"\basync\b", head) is not None


def _has(wrap: Wrap, text: str, start: int, end: int) -> bool:
    """Whether a call has around it what the edit put there: an `await`, or a call of the same function."""
    return text[:start].endswith(wrap.before) and text.startswith(wrap.behind, end)
