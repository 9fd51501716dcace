"""Cut an answer where it repeats the rest of the cursor's line."""

import re

from dlsp.completion.brackets import CLOSERS, closes_own

QUOTES = "\"'`"
# Apostrophes inside words and before them (lifetimes of Rust) begin no string.
_STRING = re.compile(
    r"""\\.|"(?:\\.|[^"\\\n])*"|(?<!\w)[bfru]{0,2}'(?:\\.|[^'\\\n])*'(?!\w)|`[^`\n]*`""", re.IGNORECASE
)


def cut_rest_of_line(text: str, line_before: str, rest: str) -> str:
    """`text` without what stands after the cursor on its line already.

    That is a bracket or quote that ends what began before the cursor, if `rest` begins with it; else the
    rest of the line as a whole, at the end of the answer's first line.
    """
    rest = rest.rstrip()
    if not rest:
        return text
    if rest[0] in CLOSERS:
        text = text[: unmatched(text, rest[0])]
    elif rest[0] in QUOTES and _count(line_before, rest[0]) % 2 == 1:
        triple = rest[0] * 3
        text = text[: _quote(text, triple if rest.startswith(triple) else rest[0])]
    first = text.split("\n", 1)[0].rstrip()
    if first.endswith(rest) and not closes_own(first, len(first) - len(rest)):
        return first.removesuffix(rest)
    return text


def unmatched(text: str, closer: str) -> int:
    """Where `closer`, outside of strings, first closes something that `text` did not open; the length of `text` if
    nowhere."""
    depth = 0
    for at, char in enumerate(_STRING.sub(lambda string: " " * len(string[0]), text)):
        depth += (char == CLOSERS[closer]) - (char == closer)
        if depth < 0:
            return at
    return len(text)


def _quote(text: str, quote: str) -> int:
    """Where `text` first has `quote`, not escaped; the length of `text` if nowhere."""
    return next((at for at in range(len(text)) if text.startswith(quote, at) and not _escaped(text, at)), len(text))


def _count(text: str, quote: str) -> int:
    return sum(char == quote and not _escaped(text, at) for at, char in enumerate(text))


def _escaped(text: str, at: int) -> bool:
    """Whether the character at `at` stands after an odd number of backslashes."""
    ahead = text[:at]
    return (len(ahead) - len(ahead.rstrip("\\"))) % 2 == 1
