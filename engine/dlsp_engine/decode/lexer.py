"""Tracks the brackets, strings and comments of program text, one character at a time, for any language."""

from pathlib import PurePath

TAB_COLUMNS = 4

_SLASH_COMMENTS = {
    *[".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".go", ".java", ".js", ".jsx", ".rs", ".swift", ".ts", ".tsx"]
}

OPENER = {")": "(", "]": "[", "}": "{"}
"""Closing bracket -> opening bracket."""

Bracket = tuple[str, int]
"""An open bracket, and the columns of indentation of the line that it is in."""


class Lexer:
    """Knows the brackets, strings and comments that most languages have. Strings in triple quotes or backticks may span
    lines; other strings end with their line. Any closing bracket closes the innermost open one, whatever its kind. In
    Rust a single quote begins a lifetime, as in `&'a str`, or a character, as in `'a'`.

    `open` are the brackets that are open, outermost first. `column` is the indentation of the current line, as far as
    it is known. `comments` is what comments begin with.
    """

    def __init__(self, path: str = "") -> None:
        """`path` says how comments begin, by its ending."""
        self.open: tuple[Bracket, ...] = ()
        self.column = 0
        self.indenting = True  # whether the current line has only white space so far
        self.comments = "//" if PurePath(path).suffix in _SLASH_COMMENTS else "#"
        self.lifetimes = PurePath(path).suffix == ".rs"
        self._mode = "code"  # or string, empty, triple, backtick, comment, slash; tick and letter behind `'` and `'a`
        self._quote = ""
        self._quotes = 0  # quotes in a row, at the start of a string or at the possible end of one in triple quotes
        self._escaped = False

    @property
    def state(self) -> tuple[str, str, int, bool]:
        """All that decides whether what comes next is code, a string or a comment."""
        if self._mode not in ("string", "empty", "triple"):
            return self._mode, "", 0, False
        return self._mode, self._quote, self._quotes, self._escaped

    @property
    def in_code(self) -> bool:
        """Whether the next character is outside strings and comments, unless it makes the last one begin a comment."""
        return self._mode in ("code", "empty", "slash", "letter")

    @property
    def in_string(self) -> bool:
        """Whether the text so far ends in a string."""
        return self._mode in ("string", "tick") or self.in_long_string

    @property
    def in_long_string(self) -> bool:
        """Whether the text so far ends in a string that may span lines."""
        return self._mode in ("triple", "backtick")

    def begin(self, line: str) -> None:
        """Process the part of a line that is before the cursor. Where a string of several lines begins or ends in it,
        nothing says which of the two it does; so the text goes on as code.
        """
        for char in line:
            self.feed(char)
        if self.in_long_string:
            self._mode = "code"

    def copy(self) -> "Lexer":
        """Return an independent copy."""
        twin = Lexer.__new__(Lexer)
        twin.__dict__.update(self.__dict__)
        return twin

    def feed_run(self, run: str) -> None:
        """Process a character, spaces, or a word. Of a word no more than two characters change anything."""
        for char in run if run[0] == " " else run[:2]:
            self.feed(char)

    def feed(self, char: str) -> None:
        """Process one more character."""
        self._indent(char)
        if self._mode == "string":
            self._string(char)
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
        elif self._mode == "tick":
            self._tick(char)
        elif self._mode == "letter" and char == "'":
            self._mode = "code"
        else:
            self._code(char)

    def _indent(self, char: str) -> None:
        if char == "\n":
            self.column, self.indenting = 0, True
        elif self.indenting and char in " \t":
            self.column += 1 if char == " " else TAB_COLUMNS - self.column % TAB_COLUMNS
        else:
            self.indenting = False

    def _string(self, char: str) -> None:
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

    def _tick(self, char: str) -> None:
        if char.isascii() and (char.isalpha() or char == "_"):
            self._mode = "letter"
        elif char in "'\n":
            self._mode = "code"
        else:
            self._mode, self._quote, self._quotes = "string", "'", 0
            self._string(char)

    def _code(self, char: str) -> None:
        self._mode = "code"
        if char == "'" and self.lifetimes:
            self._mode = "tick"
        elif char in "\"'":
            self._mode, self._quote, self._quotes = "string", char, 1
        elif char == "`":
            self._mode = "backtick"
        elif char in "([{":
            self.open = (*self.open, (char, self.column))
        elif char in OPENER:
            self.open = self.open[:-1]
        elif char == self.comments[0]:
            self._mode = "comment" if len(self.comments) == 1 else "slash"


def indent(text: str) -> int:
    """Return the columns of white space at the start of the text; a tab goes to the next multiple of TAB_COLUMNS."""
    column = 0
    for char in text:
        if char == " ":
            column += 1
        elif char == "\t":
            column += TAB_COLUMNS - column % TAB_COLUMNS
        else:
            break
    return column
