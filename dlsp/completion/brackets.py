"""Brackets and strings of a piece of code, as far as the piece itself tells."""

import re
from collections.abc import Iterator

CLOSERS = {")": "(", "]": "[", "}": "{"}
OPENERS = {opener: closer for closer, opener in CLOSERS.items()}
QUOTES = "\"'`"
MOST_ALONE = 4
"""Characters that an editor puts behind the cursor by itself."""
# No string begins at an escaped quote: looked for from each of them, one that is not closed would take seconds. Nor
# does one at an apostrophe inside a word or before it (lifetimes of Rust).
_TOKEN = re.compile(
    r'\\.|"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|`[^`]*(?:`|\Z)'
    r'|"(?:\\.|[^"\\\n])*"?|(?<!\w)[bfruBFRU]{0,2}\'(?:\\.|[^\'\\\n])*\'(?!\w)|(?:#|//)[^\n]*|[()\[\]{}]'
)
_LABEL = re.compile(r"""\s*(?:[\w$*?.^\-\[\]]|"[^"\n]*"|'[^'\n]*'|[ ]?\|[ ]?)++""")
"""What a `)` alone ends: the mark of a list's item, or a case of a shell."""


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
    return len(text) <= MOST_ALONE and all(char in CLOSERS or char in QUOTES for char in text)


def closes_below(text: str) -> bool:
    """Whether Enter between brackets may have put `text` behind the cursor: a line's end, and closing brackets."""
    closers = text.strip()
    return text.startswith(("\n", "\r")) and closes_alone(closers) and all(char in CLOSERS for char in closers)


def cut_unmatched(text: str, before: str) -> str:
    """`text` up to a bracket that closes nothing: neither what `text` opened nor what is open before the cursor."""
    own: list[str] = []
    outer: list[str] | None = None  # what is open before the cursor takes long to find, and seldom decides
    for at, char in brackets(text):
        if char in OPENERS:
            own.append(char)
            continue
        if CLOSERS[char] in own:
            _close(own, char)
            continue
        outer = unclosed(before) if outer is None else outer
        if CLOSERS[char] in outer:
            own.clear()
            _close(outer, char)
            continue
        above = before + text[:at]
        # Counted once more, as strings may have been taken wrongly.
        if above.count(CLOSERS[char]) <= above.count(char) and not (char == ")" and _LABEL.fullmatch(_line(above))):
            return text[:at]
    return text


def _line(text: str) -> str:
    return text.rpartition("\n")[2]


def _close(stack: list[str], closer: str) -> None:
    while stack.pop() != CLOSERS[closer]:
        pass
