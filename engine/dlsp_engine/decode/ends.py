"""Finds where a gap ends. Each token is checked as soon as it is committed, so no step is spent past the end."""

import codecs
import re
from copy import copy
from pathlib import PurePath

BLANK_TOKENS = 16  # a gap of so many tokens, all white space, is given up; the deepest indentation takes three

_SLASH_COMMENTS = {
    *[".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".jsx", ".rs", ".swift", ".ts", ".tsx"]
}
_DEFINITION = re.compile(r"^[ \t]*(?:async\s+def|def|class|fn|func|function|pub\s+fn)\b", re.MULTILINE)


class Ending:
    """Follows the text of a gap token by token and finds its end. `reason` is why it has ended, and `cut` is where its
    text ends, in characters; both are None until then. The time per token does not depend on how long the text is.

    The rules: `token` ends at the end token alone. `line` ends at the end of the first line that is not blank. `block`
    ends before a line, outside brackets and strings, that is indented less than the gap's own line. `body` ends before
    one that is indented no deeper than the definition around the gap.
    """

    def __init__(self, rule: str, stops: tuple[str, ...], before: str, path: str = "", forced_bytes: int = 0) -> None:
        """`before` is the text before the gap. The first `forced_bytes` bytes of the answer are already in the document
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
        self._tail = ""  # the end of the text, as long as the longest stop text
        self._solid = 0  # characters up to the last one that is not white space
        self._line_end = 0  # characters up to the last one that is not a carriage return
        self._lexer = Lexer("//" if PurePath(path).suffix in _SLASH_COMMENTS else "#")
        line = before[before.rfind("\n") + 1 :]
        self._column, self._indenting = indent(line), not line.strip(" \t")
        self._dedent: int | None = None  # where to cut if the current line turns out to be indented too little
        self._floor: int | None = None  # least columns of indentation; None until the first line sets them
        if rule == "body":
            definitions = list(_DEFINITION.finditer(before))
            self._floor = indent(before[definitions[-1].start() :]) + 1 if definitions else 0
        elif line.strip():
            self._floor = indent(line)

    def copy(self) -> "Ending":
        """Return an independent copy, for trying out a draft."""
        twin = copy(self)
        twin._lexer = copy(self._lexer)
        return twin

    def feed(self, word: bytes) -> str:
        """Process one more token, whose bytes are `word`. Returns the characters that it completed."""
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
        """Return where the first stop text begins that is complete with `text`; None if there is none."""
        if not self._stops:
            return None
        seen = self._tail + text
        start = self._characters - len(self._tail)
        self._tail = seen[-max(map(len, self._stops)) :]
        return min((start + at for stop in self._stops if (at := seen.find(stop)) >= 0), default=None)

    def _ruled(self, text: str) -> int | None:
        """Return where the rule cuts the text, if `text` makes it do so; else None."""
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
        """Return where to cut if `char` begins a line that is indented too little; else None."""
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
    """Tracks the brackets, strings and comments that most languages have, one character at a time. Strings in triple
    quotes or backticks may span lines; other strings end with their line. `comment` is what begins a comment, `#` or
    `//`.
    """

    def __init__(self, comment: str) -> None:
        self._comment = comment
        self._depth = 0
        self._mode = "code"  # or string, empty, triple, backtick, comment, slash
        self._quote = ""
        self._quotes = 0  # quotes in a row, at the start of a string or at the possible end of one in triple quotes
        self._escaped = False

    @property
    def open_ground(self) -> bool:
        """Whether the text so far ends outside brackets, and outside strings that span lines."""
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
    """Return the index of the end of the first line that is not blank, without its line break; None if no such line is
    complete.
    """
    lead = len(text) - len(text.lstrip())
    at = text.find("\n", lead)
    return None if at < 0 else len(text[:at].rstrip("\r"))


def indent(text: str) -> int:
    """Return the columns of white space at the start of the text; a tab goes to the next multiple of 4."""
    column = 0
    for char in text:
        if char == " ":
            column += 1
        elif char == "\t":
            column += 4 - column % 4
        else:
            break
    return column
