"""What the model sees of the document itself, before and after the cursor.

Before: the headers of the enclosing function and class, then imports, signatures of definitions above, places that are
like the cursor's (see `siblings`), also from below, then the nearest lines above. After: whole statements.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from dlsp import function
from dlsp.context.parts import Part
from dlsp.context.structure import Structure
from dlsp.context.tokens import head, tail, tokens
from dlsp.syntax.definitions import Definition
from dlsp.syntax.outline import signature

# Shares of the prefix budget.
MIN_NEAR_SHARE, MAX_IMPORTS_SHARE, MAX_SIGNATURES_SHARE = 0.5, 0.2, 0.2
_WORD = re.compile(r"\w+")
_SEARCHED_CHARACTERS = 2500
# Returns the structure at the cursor; called only if the text does not fit completely.
Find = Callable[[], Structure | None]
# The start of a cut prefix moves in steps of this many rows, so that the next anchor can reuse the prefilled tokens.
PREFIX_START_ROWS = 8


def suffix(find: Find, path: str, before: str, after: str, most: int, longest: int) -> Part:
    """The part of `after` that the model sees: about `most` tokens, cut at the end of a statement.

    The statement under the cursor is kept whole up to `longest` tokens, which is the limit of any result. At the end of
    a function nothing beyond it is included: a model that sees the next function starts to write that one.
    """
    row = before.count("\n")
    closing = function.end(before, after)
    if closing is not None and closing.strip() != after.strip() and tokens(closing) <= longest:
        return Part(path, row, closing, "what closes the function; it ends here")
    if len(after) <= most or head(after[: most * 8], most) == len(after):
        return Part(path, row, after, "all that follows")
    length = head(after[: most * 8], most)
    lines = after.rfind("\n", 0, length) + 1
    place = find()
    if place is None:
        return Part(path, row, after[: lines or length], "the lines that follow")
    shift = len(place.source.bytes) - len(place.content)  # bytes of the line that was left out
    cursor = len(before.encode("utf-8", "replace"))
    most_end = cursor + len(after[:length].encode("utf-8", "replace"))
    end = (place.last_end(place.cursor, most_end - shift) or 0) + shift
    statement = place.statement()
    if statement and statement[0] < place.cursor:
        farthest = cursor + len(after[: head(after[: longest * 8], longest)].encode("utf-8", "replace"))
        end = max(end, statement[1] + shift if statement[1] + shift <= farthest else 0)
    kept = place.source.bytes[cursor:end].decode("utf-8", "replace") if end > cursor else after[: lines or length]
    line_end = after.find("\n", len(kept.rstrip("\n")))
    whole = after[: line_end + 1] if line_end >= 0 else after
    kept = whole if len(whole) < len(kept) + most and tokens(whole) <= longest else kept
    return Part(path, row, kept, "what follows, to the end of a statement")


def prefix(
    find: Find, path: str, before: str, most: int, alike: Sequence[Part] = (), without: Collection[str] = ()
) -> tuple[Part, ...]:
    """Parts of `before`, at most `most` tokens, and those of `alike` that they do not show, which cost nothing here: in
    document order, what is from below the cursor ahead of the last part, which ends at the cursor.
    """
    if len(before) <= most or tail(before, most) == 0:
        below = [part for part in alike if part.row > before.count("\n")]
        start = _block(before, find()) if below else 0
        top = [Part(path, 0, before[:start], "all that stands before")] if start else []
        return (*top, *below, _part(path, before, start, "all that stands before"))
    place = find()
    if place is None or not place.source.language.has_definitions:
        start = _stepped(before, tail(before, most), place)
        return _ordered(alike, _part(path, before, start, "the lines before"), before)
    return _Prefix(path, before, place, most, alike, without).parts()


class _Prefix:
    """Spends the token budget on the parts of one document, the most useful first."""

    def __init__(
        self,
        path: str,
        before: str,
        place: Structure,
        most: int,
        alike: Sequence[Part],
        without: Collection[str],
    ) -> None:
        self.path, self.before, self.place, self.alike, self.without = path, before, place, alike, without
        self.content = before.encode("utf-8", "replace")
        self.most = self.left = most
        self.inner = next((each for each in reversed(place.enclosing) if each.kind == "function"), None)

    def parts(self) -> tuple[Part, ...]:
        heads = self._heads()
        alike = [part for part in self.alike if not _overlaps(part, heads)]
        imports = [] if "imports" in self.without else self._imports()
        imports = self._within(imports, self.most * MAX_IMPORTS_SHARE, alike)
        room = min(self.most * MAX_SIGNATURES_SHARE, self.left - self.most * MIN_NEAR_SHARE)
        signatures = () if "signatures" in self.without else self._signatures()
        signatures = self._within(signatures, room, alike)
        start = _stepped(self.before, tail(self.before, max(1, self.left)), self.place, self.inner)
        near = _part(self.path, self.before, start, self._reason(start))
        return _ordered([*signatures, *imports, *heads, *alike], near, self.before)

    def _heads(self) -> list[Part]:
        """Headers of the enclosing definitions, innermost first; one that does not fit is cut."""
        kept: list[Part] = []
        left = int(self.most * (1 - MIN_NEAR_SHARE))
        for definition in reversed(self.place.enclosing):
            if (part := self._head(definition)) and (part := part.cut(left)).text:
                kept.append(part)
                left -= part.tokens
        self._spend(kept)
        return kept

    def _reason(self, start: int) -> str:
        if self.inner is None:
            return "the lines before"
        begins = len(self.before[:start].encode("utf-8", "replace"))
        what = f"the enclosing function {self.inner.name}"
        return f"{what} and the lines before" if begins <= self.inner.start else f"{what}, its last lines"

    def _head(self, definition: Definition) -> Part | None:
        """The header of an enclosing definition, without its body."""
        if definition.body is None or definition.body > len(self.content):
            return None
        end = self.content.find(b"\n", max(definition.start, definition.body - 1)) + 1
        first_of_body = self.content.rfind(b"\n", 0, definition.body) + 1
        end = first_of_body if not self.content[first_of_body : definition.body].strip() else end
        why = f"the enclosing {definition.kind} {definition.name}"
        return self._lines(definition.start, end or len(self.content), why)

    def _imports(self) -> list[Part]:
        """The imports, those whose names are used near the cursor first."""
        found = [self._lines(node.start_byte, node.end_byte, "an import") for node in self.place.imports]
        used = set(_WORD.findall(self.before[-_SEARCHED_CHARACTERS:]))
        return sorted(found, key=lambda part: used.isdisjoint(_WORD.findall(part.text)[-3:]))

    def _signatures(self) -> Iterator[Part]:
        """Signatures of the same class's members, then of top-level definitions, each the nearest first."""
        around = self.place.enclosing
        group = around[-1].parent if around and around[-1].kind == "function" else (around[-1] if around else None)
        known = [each for each in self.place.definitions if each.end <= len(self.content) and each not in around]
        siblings = [each for each in known if group and each.parent is group]
        others = [each for each in known if each.parent is None]
        return (self._signature(each) for each in [*reversed(siblings), *reversed(others)])

    def _signature(self, definition: Definition) -> Part:
        text = signature(definition, self.content, self.place.source.language) + "\n"
        row = self.content.count(b"\n", 0, definition.start)
        return Part(self.path, row, text, f"the signature of {definition.name}")

    def _within(self, parts: Iterable[Part], most: float, shown: Sequence[Part]) -> list[Part]:
        """The first parts up to `most` tokens, without those that `shown` shows."""
        kept: list[Part] = []
        for part in parts:
            if _overlaps(part, shown):
                continue
            if part.tokens > most:
                break
            most -= part.tokens
            kept.append(part)
        self._spend(kept)
        return kept

    def _spend(self, parts: list[Part]) -> None:
        self.left -= sum(part.tokens for part in parts)

    def _lines(self, start: int, end: int, why: str) -> Part:
        """The whole lines that contain bytes `start` to `end`."""
        start = self.content.rfind(b"\n", 0, start) + 1
        if not self.content[:end].endswith(b"\n"):
            end = (self.content.find(b"\n", end) + 1) or len(self.content)
        return Part(self.path, self.content.count(b"\n", 0, start), self.content[start:end].decode(), why)


def _part(path: str, before: str, start: int, why: str) -> Part:
    return Part(path, before.count("\n", 0, start), before[start:], why)


def _ordered(parts: Iterable[Part], near: Part, before: str) -> tuple[Part, ...]:
    """The parts above the nearest lines, as far as these do not show them, those from below the cursor, the lines."""
    above: dict[int, Part] = {}
    below: list[Part] = []
    for part in parts:
        if part.row < near.row:
            above[part.row] = part.up_to(near.row)
        elif part.row > before.count("\n"):
            below.append(part)
    return (*(above[row] for row in sorted(above)), *below, near)


def _overlaps(part: Part, others: Iterable[Part]) -> bool:
    rows = range(part.row, part.row + max(1, part.text.count("\n")))
    return any(other.row < rows.stop and rows.start < other.row + other.text.count("\n") for other in others)


def _block(before: str, place: Structure | None) -> int:
    """The offset of the line where the enclosing function begins, else of what follows the last blank line."""
    inner = [each for each in place.enclosing if each.kind == "function"] if place else []
    if place and inner:
        return before.rfind("\n", 0, len(place.content[: inner[-1].start].decode("utf-8", "replace"))) + 1
    blank = before.rfind("\n\n", 0, before.rfind("\n") + 1)
    return blank + 2 if blank >= 0 else 0


def _stepped(before: str, start: int, place: Structure | None, inner: Definition | None = None) -> int:
    """A start of the prefix, at or after `start`, that stays the same while the cursor moves on.

    It is the enclosing function's start if that follows, else the first statement after a multiple of PREFIX_START_ROWS
    rows; close to the cursor it is `start` itself.
    """
    if place and inner:
        begins = len(place.content[: inner.start].decode("utf-8", "replace"))
        line = before.rfind("\n", 0, begins) + 1
        # The function's first line is the best start unless that gives up a third of the text.
        if start <= line and tokens(before[start:line]) < tokens(before[start:]) // 3:
            return line
    row, last = before.count("\n", 0, start), before.count("\n")
    wanted = row + -row % PREFIX_START_ROWS
    if wanted > last - PREFIX_START_ROWS:
        return start
    at = start
    for _ in range(wanted - row):
        at = before.index("\n", at) + 1
    if place:
        first = len(before[:at].encode("utf-8", "replace"))
        most = len(before[:at].encode("utf-8", "replace")) + len(before[at:].encode("utf-8", "replace")) // 3
        border = place.next_start(first, most)
        if border is not None:
            at = before.rfind("\n", 0, len(place.content[:border].decode("utf-8", "replace"))) + 1
    return at
