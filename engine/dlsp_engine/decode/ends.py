"""Where a gap ends. Each token is followed as it is committed, so that no step is spent past the end."""

import codecs
import re
from copy import copy
from pathlib import PurePath

BLANK_TOKENS = 16  # of nothing but white space, after which no more is expected; the deepest indentation takes three

_SLASH_COMMENTS = {
    *[".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".jsx", ".rs", ".swift", ".ts", ".tsx"]
}
_DEFINITION = re.compile(r"^[ \t]*(?:async\s+def|def|class|fn|func|function|pub\s+fn)\b", re.MULTILINE)


class Ending:
    """Follows the text of a gap token by token. `reason` is why it has ended and `cut` where its text does; both are
    None while it goes on. What a token costs does not depend on how much was written before it.

    The rules: `token` ends at the end token alone; `line` at the end of the first line that is not blank; `block`
    before a line, outside brackets and strings, that is indented less than the gap's own; `body` before one that is
    indented no deeper than the definition around the gap.
    """

    def __init__(self, rule: str, stops: tuple[str, ...], before: str, path: str = "", forced_bytes: int = 0) -> None:
        """For a gap with the text `before` it. The first `forced_bytes` that are written stand in the document already
        and do not count.
        """
        self.reason: str | None = None
        self.cut: int | None = None
        self._rule = rule
        self._stops = stops
        self._skip = forced_bytes
        self._undecoded = b""
        self._tokens = self._bytes = self._characters = 0
        self._blank = True  # whether all bytes are white space
        self._tail = ""  # as much of the end as the beginning of a stop text may have
        self._solid = 0  # characters up to the last one that is no white space
        self._line_end = 0  # characters up to the last one that is no carriage return
        self._lexer = Lexer("//" if PurePath(path).suffix in _SLASH_COMMENTS else "#")
        line = before[before.rfind("\n") + 1 :]
        self._column, self._indenting = indent(line), not line.strip(" \t")
        self._dedent: int | None = None  # where to cut if the line that begins is indented too little
        self._floor: int | None = None  # columns that a line must be indented; None: the first line that comes decides
        if rule == "body":
            definitions = list(_DEFINITION.finditer(before))
            self._floor = indent(before[definitions[-1].start() :]) + 1 if definitions else 0
        elif line.strip():
            self._floor = indent(line)

    def copy(self) -> "Ending":
        """One that goes its own way, to see what a draft would do."""
        twin = copy(self)
        twin._lexer = copy(self._lexer)
        return twin

    def feed(self, word: bytes) -> str:
        """Follow one more token, which wrote `word`; returns the characters that it completed."""
        written = word[self._skip :]
        self._skip = max(0, self._skip - len(word))
        self._tokens += 1
        self._bytes += len(written)
        self._blank = self._blank and (not written or written.isspace())
        text, decoded = codecs.utf_8_decode(self._undecoded + written, "ignore", False)
        self._undecoded = (self._undecoded + written)[decoded:]
        stop, cut = self._stop(text), self._ruled(text)
        if stop is not None:
            self.reason, self.cut = "stop", stop
        elif cut is not None:
            self.reason, self.cut = self._rule, cut
        elif self._tokens >= BLANK_TOKENS and self._blank and self._bytes:
            self.reason, self.cut = "blank", 0
        return text

    def _stop(self, text: str) -> int | None:
        """Where the first stop text begins that ends in `text`."""
        if not self._stops:
            return None
        seen = self._tail + text
        start = self._characters - len(self._tail)
        self._tail = seen[-max(map(len, self._stops)) :]
        return min((start + at for stop in self._stops if (at := seen.find(stop)) >= 0), default=None)

    def _ruled(self, text: str) -> int | None:
        """Where the rule cuts, if `text` brings that about."""
        found = None
        for char in text:
            if found is None and self._rule == "line" and char == "\n" and self._solid:
                found = self._line_end
            elif found is None and self._rule in ("block", "body"):
                found = self._dedented(char)
            self._characters += 1
            if not char.isspace():
                self._solid = self._characters
            if char != "\r":
                self._line_end = self._characters
        return found

    def _dedented(self, char: str) -> int | None:
        """Where to cut, if `char` begins a line that is indented too little."""
        cut = None
        if char == "\n":
            self._dedent = self._solid if self._lexer.open_ground else None
            self._column, self._indenting = 0, True
        elif char in " \t":
            if self._indenting:
                self._column += 1 if char == " " else 4 - self._column % 4
        else:
            if not char.isspace():
                if self._floor is None:
                    self._floor = self._column
                if self._dedent is not None and self._column < self._floor:
                    cut = self._dedent
            self._dedent, self._indenting = None, False
        self._lexer.feed(char)
        return cut


class Lexer:
    """Brackets, strings and comments of most languages, a character at a time: triple quotes and backticks reach over
    lines, other strings end with theirs. `comment` is what begins one, `#` or `//`.
    """

    def __init__(self, comment: str) -> None:
        self._comment = comment
        self._depth = 0
        self._mode = "code"  # or string, empty, triple, backtick, comment, slash
        self._quote = ""
        self._quotes = 0  # in a row: of a string that may be empty, or of those that may close a triple one
        self._escaped = False

    @property
    def open_ground(self) -> bool:
        """Outside of brackets, and of strings that reach over lines."""
        return self._depth == 0 and self._mode not in ("triple", "backtick")

    def feed(self, char: str) -> None:
        if self._mode == "string":
            if self._escaped:
                self._escaped = False
                if char == "\n":
                    self._mode = "code"
            elif char == "\\":
                self._escaped, self._quotes = True, 0
            elif char == "\n":
                self._mode = "code"
            elif char == self._quote:
                self._mode = "empty" if self._quotes else "code"
            else:
                self._quotes = 0
        elif self._mode == "triple":
            self._quotes = self._quotes + 1 if char == self._quote else 0
            if self._quotes == 3:
                self._mode = "code"
        elif self._mode == "backtick":
            self._mode = "code" if char == "`" else "backtick"
        elif self._mode == "comment":
            self._mode = "code" if char == "\n" else "comment"
        elif self._mode == "empty" and char == self._quote:
            self._mode, self._quotes = "triple", 0
        elif self._mode == "slash" and char == "/":
            self._mode = "comment"
        else:
            self._code(char)

    def _code(self, char: str) -> None:
        self._mode = "code"
        if char in "\"'":
            self._mode, self._quote, self._quotes = "string", char, 1
        elif char == "`":
            self._mode = "backtick"
        elif char in "([{":
            self._depth += 1
        elif char in ")]}":
            self._depth = max(0, self._depth - 1)
        elif char == self._comment[0]:
            self._mode = "comment" if len(self._comment) == 1 else "slash"


def line_end(text: str) -> int | None:
    """The end of the first line that has more than white space in it; None where there is none."""
    lead = len(text) - len(text.lstrip())
    at = text.find("\n", lead)
    return None if at < 0 else len(text[:at].rstrip("\r"))


def indent(text: str) -> int:
    """Columns of white space at the start of the text, a tab to the next multiple of 4."""
    column = 0
    for char in text:
        if char == " ":
            column += 1
        elif char == "\t":
            column += 4 - column % 4
        else:
            break
    return column
