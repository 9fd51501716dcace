"""How many tokens a text will be, without the model's tokenizer, which takes half a second and 100 MB to load.

A count of words, digits and marks: between 0.8 and 1.2 times the tokenizer's on nine of ten source files.
"""

import re

_PIECE = re.compile(r"[A-Za-z]{1,12}|\d|[^\x00-\x7f]|[^\w\s]{1,3}|_|\n\s*| {2,}")


def tokens(text: str) -> int:
    return sum(1 for _ in _PIECE.finditer(text))


def head(text: str, most: int) -> int:
    """How long the start of `text` is that has at most so many tokens."""
    for count, piece in enumerate(_PIECE.finditer(text)):
        if count == most:
            return piece.start()
    return len(text)


def tail(text: str, most: int) -> int:
    """Where the end of `text` begins that has at most so many tokens, at the start of a line, or inside the line
    where the last alone is too long."""
    start = at = len(text)
    while at > 0:
        line = text.rfind("\n", 0, at - 1) + 1
        needed = tokens(text[line:at])
        if needed > most:
            return start if start < len(text) else at - head(text[line:at][::-1], most)
        most -= needed
        start = at = line
    return start
