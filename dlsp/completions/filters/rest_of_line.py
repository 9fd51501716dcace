"""Cut an answer where it repeats the rest of the cursor's line."""

import re

from dlsp.syntax.brackets import CLOSERS, QUOTES, blank, closes_own

# Apostrophes inside words and before them (lifetimes of Rust) begin no string.
_STRING = re.compile(
    r"""\\.|"(?:\\.|[^"\\\n])*"|(?<!\w)[bfru]{0,2}'(?:\\.|[^'\\\n])*'(?!\w)|`[^`\n]*`""", re.IGNORECASE
)

# Letters and digits that an answer must have to be a repetition of the rest's beginning, and not a coincidence.
MIN_REPEATED_CHARACTERS = 4


def cut_rest_of_line(text: str, line_before: str, rest: str) -> str:
    """`text` without what stands after the cursor on its line already.

    That is a bracket or quote that ends what began before the cursor, if `rest` begins with it; the rest of the line as
    a whole, at the end of the answer's first line; and an answer that says nothing but what the rest begins with.
    """
    rest = rest.rstrip()
    if not rest:
        return text
    if rest[0] in CLOSERS:
        text = text[: unmatched(text, rest[0])]
    elif rest[0] in QUOTES and _unescaped(line_before).count(rest[0]) % 2 == 1:
        triple = rest[0] * 3
        end = _unescaped(text).find(triple if rest.startswith(triple) else rest[0])
        text = text[:end] if end >= 0 else text
    if rest.startswith(text.rstrip()) and sum(map(str.isalnum, text)) >= MIN_REPEATED_CHARACTERS:
        return ""  # the beginning of a long rest again
    first = text.split("\n", 1)[0].rstrip()
    if first.endswith(rest) and not closes_own(first, len(first) - len(rest)):
        return first.removesuffix(rest)
    return text


def unmatched(text: str, closer: str) -> int:
    """Where `closer`, outside of strings, first closes something that `text` did not open; the length of `text` if
    nowhere."""
    depth = 0
    for at, char in enumerate(_STRING.sub(blank, text)):
        depth += (char == CLOSERS[closer]) - (char == closer)
        if depth < 0:
            return at
    return len(text)


def _unescaped(text: str) -> str:
    """With blanks for backslashes and what they escape."""
    return re.sub(r"\\.", blank, text)
