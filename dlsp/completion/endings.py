"""The end of a suggestion, and the ends of its lines."""

import re


def line_ending(document: str) -> str:
    """The first line ending in `document`, `\\n` if it has none."""
    found = re.search(r"\r\n|\n|\r", document)
    return found.group() if found else "\n"


def with_newlines(text: str) -> str:
    """`text`, whatever ends its lines, with `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def with_endings(text: str, ending: str) -> str:
    """`text`, whose lines end in `\\n`, with another line ending."""
    return text.replace("\n", ending)


def without_tail(text: str, rest: str) -> str:
    """`text` without white space at its end; nothing if there is nothing else.

    Before text that stays on the line, blanks at the end may separate and are kept.
    """
    if not text.strip():
        return ""
    return text if rest.strip() else text.rstrip()
