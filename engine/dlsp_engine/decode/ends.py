"""Finds where a gap ends. Each token is checked as soon as it is committed, so no step is spent past the end."""

import codecs
import re
from functools import lru_cache

from dlsp_engine.decode.behind import Behind
from dlsp_engine.decode.lexer import OPENER, Lexer, indent

BLANK_TOKENS = 16  # a gap of so many tokens, all white space, is given up; the deepest indentation takes three

_DEFINITION = re.compile(r"^[ \t]*(?:async\s+def|def|class|fn|func|function|pub\s+fn)\b", re.MULTILINE)

# What is processed at once: a word or spaces, in which nothing can end, or another character.
_PART = re.compile(r"\w+| +|[^\w ]")


class Ending:
    """Follows the text of a gap token by token and finds its end. `reason` is why it has ended, and `cut` is where its
    text ends, in characters; both are None until then. The time per token does not depend on how long the text is.

    The rules: `token` ends at the end token alone. `line` ends at the end of the first line that is not blank. `block`
    ends before a line, outside brackets and strings, that is indented less than the gap's own line. `body` ends before
    one that is indented no deeper than the definition around the gap. All of them also end where the text begins to
    repeat what stands behind the cursor, with the reason `suffix`: at a closing bracket that nothing is open for
    besides, after the rest of the cursor's line, and before the next line. `text`, for text that is no gap in code,
    ends at the end token alone, wherever that comes.

    `may_end` says whether the end token may come next.
    """

    def __init__(
        self,
        rule: str,
        stops: tuple[str, ...],
        before: str,
        after: str = "",
        path: str = "",
        forced_bytes: int = 0,
    ) -> None:
        """`before` is the text before the gap, `after` the text behind it. The first `forced_bytes` bytes of the answer
        are already in the document and do not count.
        """
        self.reason: str | None = None
        self.cut: int | None = None
        self._rule = rule
        self._stops = stops
        self._skip = forced_bytes
        self._undecoded = b""
        self._tokens = self._bytes = self._characters = 0
        self._blank = True  # whether all bytes are white space
        self._begun = [0] * len(stops)  # of each stop text: how many of its characters the text so far ends with
        self._solid = 0  # characters up to the last one that is not white space
        self._line_end = 0  # characters up to the last one that is not a carriage return
        self._behind = Behind(before, after, path)
        self._line = line = before[before.rfind("\n") + 1 :]
        self._line_start = -len(line)  # where the current line begins, in characters of the text
        self._whole = not line.strip()  # whether the current line is the text's own from its start
        self._solid_above = 0  # as `_solid`, of the lines above the current one
        self._lexer = Lexer(path)
        self._lexer.begin(line)
        self._outer = len(self._lexer.open)  # open brackets that are not the text's own
        self._closed = ""  # closing brackets of the text that close none of its own
        self._closes_own = False  # whether the current line begins by closing a bracket of the text's own
        self._colon: int | None = None  # the indentation of the last line that is not blank, if a colon ends it
        self._dedent: int | None = None  # where to cut if the current line turns out to be indented too little
        self._floor: int | None = None  # least columns of indentation; None until the first line sets them
        if rule == "body":
            definitions = list(_DEFINITION.finditer(before))
            self._floor = indent(before[definitions[-1].start() :]) + 1 if definitions else 0
        elif line.strip():
            self._floor = indent(line)

    def copy(self) -> "Ending":
        """Return an independent copy, for trying out a draft."""
        twin = Ending.__new__(Ending)  # `copy.copy` takes several times as long
        twin.__dict__.update(self.__dict__)
        twin._lexer = self._lexer.copy()
        twin._begun = list(self._begun)
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
            self.reason, self.cut = cut
        elif self._tokens >= BLANK_TOKENS and self._blank and self._bytes:
            self.reason, self.cut = "blank", 0
        return text

    def _stop(self, text: str) -> int | None:
        """Return where the first stop text begins that is complete with `text`; None if there is none."""
        starts: list[int] = []
        for number, stop in enumerate(self._stops):
            shorter, begun = borders(stop), self._begun[number]
            for place, char in enumerate(text, self._characters + 1):
                while begun and char != stop[begun]:
                    begun = shorter[begun - 1]
                begun += char == stop[begun]
                if begun == len(stop):
                    starts.append(place - begun)
                    begun = shorter[begun - 1]
            self._begun[number] = begun
        return min(starts, default=None)

    @property
    def settled(self) -> int:
        """How many characters of the text no later token can cut off, under the rule `text`."""
        if self.cut is not None:
            return self.cut
        return 0 if self._blank else self._characters - max(self._begun, default=0)

    @property
    def may_end(self) -> bool:
        """Whether the end token may come next: not where it would leave a bracket of the text's own open, or a block
        without lines, that the text behind the cursor does not complete.
        """
        if self._rule == "text":
            return True
        behind, brackets, outer = self._behind, self._lexer.open, self._outer
        if (self._rule == "line" and not behind.rest) or self._lexer.in_string:
            return True
        hangs = self._colon is not None and behind.wants_block(self._colon)
        return not hangs and behind.closes(brackets[:outer], brackets[outer:])

    @property
    def breaks(self) -> bool:
        """Whether a line break has to come where the end token may not: the model has no more to say in this line."""
        return not self._behind.rest and bool(self._line.strip())

    def _ruled(self, text: str) -> tuple[str, int] | None:
        """Return the reason and the place of a cut, if `text` makes the rules cut; else None."""
        if self._rule == "text":
            self._characters += len(text)
            return None
        found = None
        for part in _PART.findall(text):
            if found is None:
                found = self._cut(part[0])
            self._follow(part)
        return found

    def _cut(self, char: str) -> tuple[str, int] | None:
        """As `_ruled`, for the next character alone."""
        repeated = self._repeated(char)
        if repeated is not None:
            return "suffix", repeated
        if self._rule == "line" and char == "\n" and self._solid:
            return "line", self._line_end
        dedented = self._dedented(char) if self._rule in ("block", "body") else None
        return None if dedented is None else (self._rule, dedented)

    def _follow(self, char: str) -> None:
        """Process one more `_PART` of the text."""
        lexer = self._lexer
        if char in OPENER and lexer.in_code:
            own = len(lexer.open) > self._outer
            self._closed += "" if own else char
            self._closes_own = own if not self._line.strip() else self._closes_own
        lexer.feed_run(char)
        self._outer = min(self._outer, len(lexer.open))
        self._characters += len(char)
        if char == "\n":
            self._line, self._line_start, self._solid_above = "", self._characters, self._solid
            self._closes_own, self._whole = False, True
        else:
            self._line += char
        if not char.isspace():
            self._solid = self._characters
            self._colon = lexer.column if char == ":" and lexer.in_code and not lexer.open else None
        if char != "\r":
            self._line_end = self._characters

    def _repeated(self, char: str) -> int | None:
        """Return where to cut if `char` completes a repetition of what stands behind the cursor; else None."""
        behind, lexer = self._behind, self._lexer
        closes = char in OPENER and lexer.in_code and len(lexer.open) <= self._outer
        if closes and behind.repeats(char, lexer.open, self._closed):
            return self._characters if behind.rest else self._solid
        if char != "\n" or not self._solid:
            return None
        line = self._line.rstrip()
        if behind.telling and line.endswith(behind.rest):
            return max(0, self._line_start + len(line) - len(behind.rest))
        again = self._whole and not behind.rest and line == behind.line and self._rule != "line"
        return self._solid_above if again and not self._closes_own and behind.distinct else None

    def _dedented(self, char: str) -> int | None:
        """Return where to cut if `char` begins a line that is indented too little; else None."""
        lexer, cut = self._lexer, None
        if char == "\n":
            outside = len(lexer.open) <= self._outer and not lexer.in_long_string
            self._dedent = self._solid if outside else None
        elif not char.isspace():
            column = lexer.column
            if self._floor is None:
                self._floor = column
            if self._dedent is not None and column < self._floor:
                cut = self._dedent
            self._dedent = None
        return cut


@lru_cache(64)
def borders(text: str) -> tuple[int, ...]:
    """Return for each beginning of `text` how long its longest proper beginning is that it also ends with (Knuth,
    Morris and Pratt 1977).
    """
    found = [0] * len(text)
    for end in range(1, len(text)):
        length = found[end - 1]
        while length and text[end] != text[length]:
            length = found[length - 1]
        found[end] = length + (text[end] == text[length])
    return tuple(found)


def line_end(text: str) -> int | None:
    """Return the index of the end of the first line that is not blank, without its line break; None if no such line is
    complete.
    """
    lead = len(text) - len(text.lstrip())
    at = text.find("\n", lead)
    return None if at < 0 else len(text[:at].rstrip("\r"))
