"""Closing brackets and quotes behind the cursor, which a suggestion replaces by its own.

An editor puts them there when the opening one is typed, and what the user means to write goes on behind them: `f(|)`
becomes `f(a, b):`.
"""

import re

from dlsp.completions.filters.rest_of_line import STRING, unescaped, unmatched
from dlsp.syntax.brackets import CLOSERS, OPENERS, QUOTES, blank, closes_alone

# In a longer line nothing is replaced: it is read at each key, and a megabyte of it takes half a second.
MAX_LINE_CHARACTERS = 2000
_BRACKET_OR_QUOTE = re.compile(r"""[()\[\]{}"`]|(?<!\w)[bfru]{0,2}'""", re.IGNORECASE)


def behind(line_before: str, rest: str) -> str:
    """The closers that are the whole rest of the cursor's line, if the line before the cursor opened them; else ""."""
    closers = rest.rstrip()
    if len(line_before) > MAX_LINE_CHARACTERS:
        return ""
    return closers if closes_alone(closers) and _missing(line_before).startswith(closers) else ""


def replaced(text: str, closers: str) -> int:
    """How many of the closers behind the cursor, from the first on, `text` writes itself."""
    return len(_places(text, closers))


def inserted(text: str, closers: str) -> str:
    """The part of `text` that can be inserted before the closers, none of which it replaces."""
    return text[: next(iter(_places(text, closers)), len(text))]


def _places(text: str, closers: str) -> list[int]:
    """Where `text` has the closers, up to the first that it lacks."""
    bare, found, at = unescaped(text), list[int](), 0
    for closer in closers:
        place = bare.find(closer, at) if closer in QUOTES else at + unmatched(text[at:], closer)
        if not 0 <= place < len(text):
            break
        found.append(place)
        at = place + 1
    return found


def _missing(line: str) -> str:
    """What closes the brackets and the quote that `line` opens and does not close, the innermost first."""
    opened: list[str] = []
    for found in _BRACKET_OR_QUOTE.finditer(STRING.sub(blank, line)):
        char = found[0][-1]
        if char in OPENERS:
            opened.append(OPENERS[char])
        elif opened and char == opened[-1]:
            opened.pop()
        elif char not in CLOSERS and not set(opened) & set(QUOTES):
            opened.append(char)
    return "".join(reversed(opened))
