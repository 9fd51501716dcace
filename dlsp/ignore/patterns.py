"""Patterns of a `.gitignore` file, matched in time bounded by the lengths of pattern and path.

pathspec, a library for such files, turns each pattern into one regular expression in which every `*` can backtrack:
seventeen characters in a cloned repository can keep it busy for half a minute. No library was found that avoids this.
So a pattern is split here: at slashes into segments, and each segment at its stars into pieces of fixed width. For such
pieces the first place that fits is as good as any later one, so nothing is tried twice. The same holds for runs of
segments between two `**`.

Patterns mean what they mean in git, except that `?` matches one character and not one byte.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MAX_PATTERNS = 2_000
MAX_PATTERN_CHARACTERS = 256

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t-\r",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}


class Patterns:
    """Patterns in order; the last one that matches decides.

    `beyond`: there are more or longer patterns than are read, so it is unknown what these would exclude.
    """

    def __init__(self, lines: Iterable[str], beyond: bool = False) -> None:
        self.beyond = beyond
        self._patterns: list[_Pattern] = []
        for line in lines:
            text = _without_end(line)
            if not text or text.startswith("#"):
                continue
            if len(text) > MAX_PATTERN_CHARACTERS or len(self._patterns) == MAX_PATTERNS:
                self.beyond = True
                break
            if pattern := _pattern(text):
                self._patterns.append(pattern)
        self._patterns.reverse()

    def __bool__(self) -> bool:
        return self.beyond or bool(self._patterns)

    @classmethod
    def read(cls, content: bytes) -> "Patterns":
        """The patterns of a file with this content."""
        return cls(content.decode("utf-8-sig", "replace").split("\n"))

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """True if the file or folder at the relative `path` (with `/`) is excluded, False if a pattern re-includes it.

        None if no pattern matches. The caller must check whether a parent folder is excluded.
        """
        parts = path.split("/")
        for pattern in self._patterns:
            if pattern.matches(parts, folder):
                return not pattern.lets_in
        return None


@dataclass(frozen=True)
class _Piece:
    """A fixed number of characters, each a literal or a class."""

    regex: re.Pattern[str]
    width: int


@dataclass(frozen=True)
class _Segment:
    """The pattern for one path component: pieces, with any text between two of them."""

    pieces: tuple[_Piece, ...]

    def matches(self, name: str) -> bool:
        first, last = self.pieces[0], self.pieces[-1]
        if len(self.pieces) == 1:
            return first.width == len(name) and first.regex.match(name) is not None
        at, end = first.width, len(name) - last.width
        if at > end or not first.regex.match(name) or not last.regex.match(name, end):
            return False
        for piece in self.pieces[1:-1]:
            found = piece.regex.search(name, at, end)
            if found is None:
                return False
            at = found.end()
        return True


_Run = tuple[_Segment, ...]


@dataclass(frozen=True)
class _Pattern:
    """`runs` are the segments between those that are `**`; `anywhere`: a bare name, which matches at any depth."""

    runs: tuple[_Run, ...]
    anywhere: bool
    lets_in: bool
    only_folders: bool

    def matches(self, parts: Sequence[str], folder: bool) -> bool:
        if self.only_folders and not folder:
            return False
        first, last = self.runs[0], self.runs[-1]
        if self.anywhere:
            return first[0].matches(parts[-1])
        if len(self.runs) == 1:
            return len(first) == len(parts) and _fits(first, parts, 0)
        # A `**` at the end must match at least one component.
        at, end = len(first), len(parts) - (len(last) or 1)
        if at > end or not _fits(first, parts, 0) or not _fits(last, parts, len(parts) - len(last)):
            return False
        for run in self.runs[1:-1]:
            found = next((place for place in range(at, end - len(run) + 1) if _fits(run, parts, place)), None)
            if found is None:
                return False
            at = found + len(run)
        return True


def is_pattern(line: str) -> bool:
    """Whether the line is a pattern that can match, a comment, or blank; git skips other lines."""
    text = _without_end(line)
    return not text or text.startswith("#") or _pattern(text) is not None


def _fits(run: _Run, parts: Sequence[str], at: int) -> bool:
    return all(segment.matches(parts[at + index]) for index, segment in enumerate(run))


def _without_end(line: str) -> str:
    """The line without a carriage return and unescaped spaces at its end."""
    line = line.removesuffix("\n").removesuffix("\r")
    end = len(line.rstrip(" "))
    escapes = end - len(line[:end].rstrip("\\"))
    return line[: end + (escapes % 2 and end < len(line))]


def _pattern(text: str) -> _Pattern | None:
    """The compiled pattern; None if it can match nothing."""
    lets_in, only_folders = text.startswith("!"), False
    text = text.removeprefix("!")
    if text.endswith("/"):
        text, only_folders = text[:-1], True
    anywhere = "/" not in text
    runs: list[list[_Segment]] = [[]]
    reader = _Reader(text.removeprefix("/"))
    while True:
        segment = reader.segment()
        if segment is None:
            return None
        if segment is _ANY and not anywhere:
            runs.append([])
        else:
            runs[-1].append(segment)
        if reader.done:
            return _Pattern(tuple(map(tuple, runs)), anywhere, lets_in, only_folders)


_NOTHING = _Piece(re.compile(""), 0)
# Two or more stars.
_ANY = _Segment((_NOTHING, _NOTHING, _NOTHING))


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.done = False

    def segment(self) -> _Segment | None:
        """The next segment; None if it can match nothing: it is empty, or a class or escape is unfinished."""
        pieces: list[list[str]] = [[]]
        stars = others = 0
        while char := self._next():
            if char == "/" or (char == "\\" and self._peek() == "/"):
                self._at += char == "\\"
                break
            stars, others = stars + (char == "*"), others + (char != "*")
            if char == "*":
                if pieces[-1] or len(pieces) == 1:
                    pieces.append([])
                continue
            if char == "?":
                one = "[^/]"
            elif char == "[":
                one = self._class()
            elif char == "\\":
                one = re.escape(self._next())
            else:
                one = re.escape(char)
            if not one:
                return None
            pieces[-1].append(one)
        else:
            self.done = True
        if not stars and not others:
            return None
        if stars > 1 and not others:
            return _ANY
        return _Segment(tuple(_Piece(re.compile("".join(each), re.DOTALL), len(each)) for each in pieces))

    def _class(self) -> str:
        """A character class as a regular expression; "" if it is unfinished or names an unknown class."""
        negated = self._peek() in ("!", "^")
        self._at += negated
        found: list[str] = []
        before, first = "", True
        while (char := self._next()) and (first or char != "]"):
            first = False
            if char == "-" and before and self._peek() not in ("", "]"):
                last = self._next()
                last = self._next() if last == "\\" else last
                if not last:
                    return ""
                if before <= last:
                    found.append(f"{re.escape(before)}-{re.escape(last)}")
                before = ""
                continue
            if char == "[" and self._peek() == ":":
                end = self._text.find("]", self._at + 1)
                name = self._text[self._at + 1 : end - 1] if end > 0 else ""
                if end < 0:
                    return ""
                if self._text[end - 1] == ":" and end - 1 > self._at:
                    if name not in _CLASSES:
                        return ""
                    found.append(_CLASSES[name])
                    self._at, before = end + 1, ""
                    continue
            if char == "\\":
                char = self._next()
                if not char:
                    return ""
            found.append(re.escape(char))
            before = char
        if char != "]":
            return ""
        if not found:  # only ranges that run backwards
            return "[^/]" if negated else r"(?!)"
        inner = "".join(found)
        return f"[^/{inner}]" if negated else f"(?!/)[{inner}]"

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        self._at += 1
        return char
