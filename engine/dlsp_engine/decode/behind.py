"""What stands behind the cursor, as far as it says where a gap ends."""

import re
from collections import Counter
from pathlib import PurePath

from dlsp_engine.decode.lexer import OPENER, Bracket, Lexer, indent

SEARCHED_CHARACTERS = 4000  # on either side of the cursor
TELLING_CHARACTERS = 4  # letters and digits of a text whose repetition is no coincidence

# Lines that stand inside a block without its indentation: of the preprocessor, labels and cases.
_BETWEEN = re.compile(r"#(?:if|else|elif|endif|define|undef|pragma|include)|\s*(?:case\b.*|\w+\s*):(?![=:])")
_COMMON = ("@", "#", "//", "/*", "*", "--")  # beginnings of lines that often stand twice: decorators and comments


class Behind:
    """The text behind the cursor: `rest` is the rest of the cursor's line, and `line` is the next line that is not
    blank, both without white space at the end. `telling` and `distinct` say whether an answer that has them, as the end
    of a line or as a line, repeats them.
    """

    def __init__(self, before: str, after: str, path: str = "") -> None:
        self._before, self._after, self._path = before, after[:SEARCHED_CHARACTERS], path
        rest, _, below = self._after.partition("\n")
        self.rest = rest.strip()
        self.line = next((line.rstrip() for line in below.split("\n") if line.strip()), "")
        self.telling = _telling(self.rest)
        self.distinct = _telling(self.line) and not self.line.lstrip().startswith(_COMMON)
        cursor_line = before[before.rfind("\n") + 1 :]
        self._column = indent(cursor_line)
        self._begun = bool(cursor_line.strip())
        self._python = PurePath(path).suffix in (".py", ".pyi")
        self._closers: dict[int, tuple[Counter[str], bool]] = {}
        self._opened: Counter[str] | None = None

    def closes(self, outer: tuple[Bracket, ...], own: tuple[Bracket, ...]) -> bool:
        """Whether it closes the brackets that the answer leaves open, `own`, besides those of the cursor's line before
        the cursor, `outer`. If the text behind goes on too far to be known, it does.
        """
        if not own:
            return True
        if not self._after.strip():
            return False
        column = own[0][1]
        found, ended = self._closing(min(column, self._column) if self._begun else column)
        open_kinds = Counter(kind for kind, _ in (*outer, *own))
        return not ended or all(found[kind] >= open_kinds[kind] for kind, _ in own)

    def repeats(self, closer: str, outer: tuple[Bracket, ...], closed: str) -> bool:
        """Whether a closing bracket that closes none of the answer's own stands behind the cursor already. `outer` are
        the brackets of the cursor's line that are still open, `closed` such brackets that the answer has closed.
        """
        kind = OPENER[closer]
        if self.rest and self.rest[0] != closer:
            return False
        found, _ = self._closing(self._column)
        here = sum(each == kind for each, _ in outer)
        if not here and self.rest:
            here = self._open_before()[kind] - closed.count(closer)
        return 0 < here <= found[kind]

    def wants_block(self, column: int) -> bool:
        """Whether a line of Python that is indented by `column` and ends in a colon has no block behind the cursor."""
        return self._python and not self.rest and (not self.line or indent(self.line) <= column)

    def _closing(self, column: int) -> tuple[Counter[str], bool]:
        """Count, by kind, the brackets that are closed but not opened in the statement that goes on behind the cursor:
        in the rest of the cursor's line, then in lines that are indented more than `column`, or as much and begin by
        closing a bracket. The second result says whether it ends in the text that is searched.
        """
        if column not in self._closers:
            self._closers[column] = self._count(column)
        return self._closers[column]

    def _count(self, column: int) -> tuple[Counter[str], bool]:
        lexer, found = Lexer(self._path), Counter[str]()
        for number, line in enumerate(self._after.split("\n")):
            if number and line.strip() and not lexer.in_long_string:
                deep = indent(line)
                if not _BETWEEN.match(line) and (deep < column or (deep == column and line.lstrip()[0] not in OPENER)):
                    return found, True
            for char in f"{line}\n":
                if char in OPENER and lexer.in_code and not lexer.open:
                    found[OPENER[char]] += 1
                lexer.feed(char)
        return found, False

    def _open_before(self) -> Counter[str]:
        """Count, by kind, the brackets that are open before the cursor."""
        if self._opened is None:
            lexer = Lexer(self._path)
            for char in self._before[-SEARCHED_CHARACTERS:]:
                lexer.feed(char)
            self._opened = Counter(kind for kind, _ in lexer.open)
        return self._opened


def _telling(text: str) -> bool:
    return sum(map(str.isalnum, text)) >= TELLING_CHARACTERS
