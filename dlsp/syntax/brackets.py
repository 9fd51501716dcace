"""Brackets and strings of a piece of code, as far as the piece itself tells."""

import re
from collections.abc import Iterator

CLOSERS = {")": "(", "]": "[", "}": "{"}
OPENERS = {opener: closer for closer, opener in CLOSERS.items()}
QUOTES = "\"'`"
# Characters that an editor inserts after the cursor by itself.
MAX_AUTO_CLOSED_CHARACTERS = 4
# No string begins at an escaped quote: looked for from each of them, one that is not closed would take seconds. Nor
# does one at an apostrophe inside a word or before it (lifetimes of Rust).
_TOKEN = re.compile(
    r'\\.|"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|`[^`]*(?:`|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?|(?<!\w)[bfruBFRU]{0,2}\'(?:\\.|[^\'\\\n])*\'(?!\w)|(?:#|//)[^\n]*|[()\[\]{}]'
)


def brackets(text: str) -> Iterator[tuple[int, str]]:
    """Where a bracket stands, and which; those in strings and comments are passed over."""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token in OPENERS or token in CLOSERS:
            yield found.start(), token


def code(text: str) -> str:
    """`text` with blanks for its strings and comments."""
    return _TOKEN.sub(lambda found: found[0] if found[0] in OPENERS or found[0] in CLOSERS else blank(found), text)


def blank(found: re.Match[str]) -> str:
    """As many blanks, so that what follows stays in its place."""
    return " " * len(found[0])


def unclosed(text: str) -> list[str]:
    """The brackets that `text` opens and does not close, the outermost first."""
    stack: list[str] = []
    for _, char in brackets(text):
        if char in OPENERS:
            stack.append(char)
        elif stack and stack[-1] == CLOSERS[char]:
            stack.pop()
    return stack


def closes_own(text: str, at: int) -> bool:
    """Whether what stands at `at`, blanks aside, is a bracket that closes one opened in `text`."""
    closer = text[at:].lstrip()[:1]
    return closer in CLOSERS and CLOSERS[closer] in unclosed(text[: text.index(closer, at)])


def closes_alone(text: str) -> bool:
    """Whether an editor may have put `text` behind the cursor by itself: a few closing brackets and quotes."""
    return len(text) <= MAX_AUTO_CLOSED_CHARACTERS and all(char in CLOSERS or char in QUOTES for char in text)


def closes_below(text: str) -> bool:
    """Whether Enter between brackets may have put `text` behind the cursor: a line's end, and closing brackets."""
    closers = text.strip()
    return text.startswith(("\n", "\r")) and closes_alone(closers) and all(char in CLOSERS for char in closers)
