"""Brackets and strings of a piece of code, as far as the piece itself tells."""

import re
from collections.abc import Iterator

CLOSERS = {")": "(", "]": "[", "}": "{"}
OPENERS = {opener: closer for closer, opener in CLOSERS.items()}
MOST_ALONE = 4
_TOKEN = re.compile(
    r'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|`[^`]*(?:`|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'|(?:#|//)[^\n]*|[()\[\]{}]'
)


def brackets(text: str) -> Iterator[tuple[int, str]]:
    """Where a bracket stands, and which; those in strings and comments are passed over."""
    for found in _TOKEN.finditer(text):
        if len(found.group()) == 1 and found.group() in "()[]{}":
            yield found.start(), found.group()


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
    return len(text) <= MOST_ALONE and all(char in CLOSERS or char in "\"'`" for char in text)


def cut_unmatched(text: str, before: str) -> str:
    """`text` up to a bracket that closes nothing: neither what `text` opened nor what is open before the cursor."""
    if not any(closer in text for closer in CLOSERS):
        return text
    stack = unclosed(before)
    for at, char in brackets(text):
        if char in OPENERS:
            stack.append(char)
        elif CLOSERS[char] in stack:
            while stack.pop() != CLOSERS[char]:
                pass
        elif (before + text[:at]).count(CLOSERS[char]) <= (before + text[:at]).count(char):
            # Counted once more, as strings may have been taken wrongly.
            return text[:at]
    return text
