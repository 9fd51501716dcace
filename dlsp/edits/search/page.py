"""The page (a document to search for sites) with what is reported of it, the site, and iteration with a time limit."""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import PurePath
from typing import TypeVar

from dlsp.edits.history.hunks import Hunk, applied, lines_of
from dlsp.edits.search.tokens import MAX_LINE_CHARACTERS, Token, tokens
from dlsp.syntax.languages import Language
from dlsp.syntax.scopes.names import Names
from dlsp.syntax.source import Source, encoded

# The most seconds to search for sites: a thread cannot be stopped, and the editor may be gone.
SEARCH_S = 10.0

T = TypeVar("T")


def in_time(items: Iterable[T], until: float) -> Iterator[T]:
    """Yield the items until the clock (`time.monotonic`) is past `until`."""
    for item in items:
        if time.monotonic() > until:
            return
        yield item


@dataclass(frozen=True)
class Error:
    """An error that another language server reports at an offset of a page's text; `fix`: what the server's own quick
    fix changes."""

    offset: int
    message: str
    fix: Hunk | None = None


@dataclass(frozen=True)
class Page:
    """The text of the document `uri`, `path` relative to the workspace; `edited` are the row ranges that the edit
    wrote. `told`: by other language servers, whether the edit must follow at the name at an offset; `errors`: what they
    report of the text."""

    uri: str
    path: str
    text: str
    language: Language | None = None
    edited: tuple[tuple[int, int], ...] = ()
    told: dict[int, bool] = field(default_factory=dict[int, bool], compare=False)
    errors: tuple[Error, ...] = ()

    def release(self) -> None:
        """Free what was found out about the page, piece by piece: all at once it would hold other threads up for
        milliseconds. Run it in a thread, once nobody needs the page any more."""
        names: Names | None = vars(self).pop("names", None)
        for part in list(vars(names)) if names else ():
            vars(names).pop(part)
        for part in ("tokens", "source", "lines", "starts"):
            vars(self).pop(part, None)

    @property
    def module(self) -> str:
        """The name by which other files import this one, or its package."""
        path = PurePath(self.path)
        if self.language and self.language.family == "go":
            return path.parent.name or "main"
        return path.parent.name if path.stem in ("__init__", "index", "mod") and path.parent.name else path.stem

    def speaks_as(self, other: "Page") -> bool:
        """Whether both are of the same language family, so that they can share names."""
        if self.language is None or other.language is None:
            return self.language is other.language and PurePath(self.path).suffix == PurePath(other.path).suffix
        return self.language.family == other.language.family

    @cached_property
    def lines(self) -> list[str]:
        return lines_of(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and of the end of the text."""
        return list(accumulate(map(len, self.lines), initial=0))

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens(self.text, self.source)

    @cached_property
    def source(self) -> Source | None:
        return self.new_source()

    def new_source(self) -> Source | None:
        """A source for another text in the page's language, such as the page's own before the edit; None for plain
        text."""
        return Source(self.language) if self.language else None

    @cached_property
    def names(self) -> Names | None:
        """What its names mean; None for plain text."""
        return Names(self.source, self.text) if self.source else None

    def breaks(self, sites: "Sequence[Site]") -> bool:
        """Whether applying all these sites adds syntax errors near any of them."""
        tree = self.source.update(self.text) if self.source else None
        if self.source is None or tree is None:
            return False
        after = self.source.imagined(encoded("".join(applied(self.lines, [site.hunk for site in sites]))))
        places = [len(encoded(self.text[: self.starts[site.start]])) for site in sites]
        return any(self.source.errors(after, at) > self.source.errors(tree, at) for at in places)

    def row(self, offset: int) -> int:
        return min(bisect_right(self.starts, offset), len(self.lines)) - 1

    def is_edited(self, start: int, end: int) -> bool:
        """Whether rows `start` to `end` overlap what the edit wrote."""
        return any((start < last and first < end) or start == end == first for first, last in self.edited)

    def is_edited_at(self, offset: int) -> bool:
        """Whether the edit wrote the line at this offset."""
        row = self.row(offset)
        return self.is_edited(row, row + 1)


def token_lines(found: Sequence[Token]) -> list[list[Token]]:
    """The tokens of each line, without line ends."""
    lines: list[list[Token]] = [[]]
    for token in found:
        if token.text == "\n":
            lines.append([])
        else:
            lines[-1].append(token)
    return lines


# The most characters of a site's text that the engine accepts.
MAX_SITE_CHARACTERS = 16_000


@dataclass(frozen=True)
class Site:
    """A place where an edit may also happen: the lines `old` of `page`, from row `start`, would become `lines`.

    `odds` are the log odds of that, by the edit and the text alone; `certain`: scopes and imports alone prove that the
    edit must follow here.
    """

    page: Page
    start: int
    old: tuple[str, ...]
    lines: tuple[str, ...]
    odds: float
    certain: bool = False

    @property
    def is_long(self) -> bool:
        """Whether one of its lines, or all together, are too long, before or after."""
        is_long = any(len(line) > MAX_LINE_CHARACTERS for line in (*self.old, *self.lines))
        return is_long or max(sum(map(len, self.old)), sum(map(len, self.lines))) > MAX_SITE_CHARACTERS

    @cached_property
    def hunk(self) -> Hunk:
        return Hunk(self.start, self.start + len(self.old), self.lines)

    @property
    def is_blank(self) -> bool:
        """Whether only white space would change."""
        return "".join(self.old).split() == "".join(self.lines).split()

    def touches(self, other: "Site") -> bool:
        return self.page == other.page and self.hunk.touches(other.hunk)
