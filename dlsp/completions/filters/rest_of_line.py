"""Cut an answer where it repeats the rest of the cursor's line."""

import re

from dlsp.syntax.brackets import CLOSERS, QUOTES, blank, closes_own

# An apostrophe inside a word or before one (a Rust lifetime) does not start a string.
STRING = re.compile(r"""\\.|"(?:\\.|[^"\\\n])*"|(?<!\w)[bfru]{0,2}'(?:\\.|[^'\\\n])*'(?!\w)|`[^`\n]*`""", re.IGNORECASE)

# Letters and digits an answer must contain to count as a repetition of the rest's start; fewer may be coincidence.
MIN_REPEATED_CHARACTERS = 4


def cut_rest_of_line(text: str, line_before: str, rest: str) -> str:
    """`text` without what already follows the cursor on its line.

    Removed are: a closing bracket or quote for something opened before the cursor, if `rest` starts with it; the whole
    rest of the line, at the end of the answer's first line; and an answer that is only the start of the rest.
    """
    rest = rest.rstrip()
    if not rest:
        return text
    if rest[0] in CLOSERS:
        text = text[: unmatched(text, rest[0])]
    elif rest[0] in QUOTES and unescaped(line_before).count(rest[0]) % 2 == 1:
        triple = rest[0] * 3
        end = unescaped(text).find(triple if rest.startswith(triple) else rest[0])
        text = text[:end] if end >= 0 else text
    if rest.startswith(text.rstrip()) and sum(map(str.isalnum, text)) >= MIN_REPEATED_CHARACTERS:
        return ""  # only repeats the start of the rest
    first = text.split("\n", 1)[0].rstrip()
    if first.endswith(rest) and not closes_own(first, len(first) - len(rest)):
        return first.removesuffix(rest)
    return text


def unmatched(text: str, closer: str) -> int:
    """The offset where `closer`, outside of strings, first closes something not opened in `text`; else the length of
    `text`."""
    depth = 0
    for at, char in enumerate(STRING.sub(blank, text)):
        depth += (char == CLOSERS[closer]) - (char == closer)
        if depth < 0:
            return at
    return len(text)


def unescaped(text: str) -> str:
    """The text with backslashes and the characters they escape replaced by blanks."""
    return re.sub(r"\\.", blank, text)
