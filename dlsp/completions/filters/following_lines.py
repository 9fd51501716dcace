"""Cut an answer where it repeats the lines after the cursor's."""

import re
from itertools import islice

from dlsp.syntax.brackets import closes_own

# Letters and digits that an overlap must have to be one, and not a coincidence.
MIN_OVERLAP_CHARACTERS = 4
# A line with which many things begin: what comes next tells whether it is the same one.
_BEGINS = re.compile(r"\s*(?:@.*|#\[.*|/\*+|<\w[^<>]*>|\W*[(\[{]|(?:\*|//+|#|--+))\s*")


def cut_following_lines(text: str, line_before: str, rest: str, following: list[str]) -> str:
    """`text` up to the line that repeats the document's next line that is not blank.

    Lines are compared whole, with their indentation. A line that begins by closing a bracket opened in
    `text` is no repetition, nor is the beginning of another object, method or test.
    """
    upcoming = _written(following)
    lines = text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        is_whole = number > 0 or not (line_before + rest).strip()
        shown = line if number else line_before + line
        same = is_whole and [shown.rstrip()] == upcoming[:1] and not closes_own(text, start)
        if same and not (_BEGINS.fullmatch(shown) and _differ(_written(lines[number + 1 :]), upcoming[1:])):
            return text[:start]
        start += len(line) + 1
    return text


def _written(lines: list[str]) -> list[str]:
    """Two lines that are not blank."""
    return list(islice((line.rstrip() for line in lines if line.strip()), 2))


def _differ(lines: list[str], others: list[str]) -> bool:
    return bool(lines and others) and lines[0] != others[0]


def cut_overlap(text: str, after: str) -> str:
    """`text` without an end, across a line's end at least, that is what `after` begins with."""
    for length in range(min(len(text), len(after)), MIN_OVERLAP_CHARACTERS, -1):
        if text.endswith(after[:length]):
            shared = after[:length]
            if "\n" in shared.rstrip() and sum(map(str.isalnum, shared)) >= MIN_OVERLAP_CHARACTERS:
                return text[: len(text) - length]
    return text
