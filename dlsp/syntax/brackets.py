"""Brackets and strings in a piece of code, recognised from the piece alone."""

import re
from collections.abc import Iterator

CLOSERS = {")": "(", "]": "[", "}": "{"}
OPENERS = {opener: closer for closer, opener in CLOSERS.items()}
QUOTES = "\"'`"
# The most characters that an editor auto-inserts after the cursor.
MAX_AUTO_CLOSED_CHARACTERS = 4
# No string begins at an escaped quote: trying each of them could take seconds for an unclosed string. Nor does one
# begin at an apostrophe inside a word or before it (Rust lifetimes).
_TOKEN = re.compile(
    r'\\.|"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|`[^`]*(?:`|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?|(?<!\w)[bfruBFRU]{0,2}\'(?:\\.|[^\'\\\n])*\'(?!\w)|(?:#|//)[^\n]*|[()\[\]{}]'
)


def brackets(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and character of each bracket outside of strings and comments."""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in OPENERS or token in CLOSERS:
            yield found.start(), token


def code(text: str) -> str:
    """`text` with strings and comments replaced by blanks."""
    return _TOKEN.sub(lambda found: found[0] if found[0] in OPENERS or found[0] in CLOSERS else blank(found), text)


def blank(found: re.Match[str]) -> str:
    """Blanks of the same length, so that offsets stay valid."""
    return " " * len(found[0])


def unclosed(text: str) -> list[str]:
    """The brackets that `text` opens and does not close, outermost first."""
    stack: list[str] = []
    for _, char in brackets(text):
        if char in OPENERS:
            stack.append(char)
        elif stack and stack[-1] == CLOSERS[char]:
            stack.pop()
    return stack


def closes_own(text: str, at: int) -> bool:
    """Whether the first non-blank character from `at` is a bracket that closes one opened in `text`."""
    closer = text[at:].lstrip()[:1]
    return closer in CLOSERS and CLOSERS[closer] in unclosed(text[: text.index(closer, at)])


def closes_alone(text: str) -> bool:
    """Whether an editor may have auto-inserted `text` after the cursor: a few closing brackets and quotes."""
    return len(text) <= MAX_AUTO_CLOSED_CHARACTERS and all(char in CLOSERS or char in QUOTES for char in text)


def closes_below(text: str) -> bool:
    """Whether `text` may come from pressing Enter between auto-closed brackets: a line end, then closing brackets."""
    closers = text.strip()
    return text.startswith(("\n", "\r")) and closes_alone(closers) and all(char in CLOSERS for char in closers)
