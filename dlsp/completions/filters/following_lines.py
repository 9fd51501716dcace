"""Cut an answer where it repeats the lines that follow the cursor's line."""

import re
from itertools import islice

from dlsp.syntax.brackets import closes_own

# Letters and digits that an overlap must contain; a shorter one may be coincidence.
MIN_OVERLAP_CHARACTERS = 4
# A common first line, such as a decorator or a lone bracket: the next line decides whether it is a repetition.
_BEGINS = re.compile(r"\s*(?:@.*|#\[.*|/\*+|<\w[^<>]*>|\W*[(\[{]|(?:\*|//+|#|--+))\s*")


def cut_following_lines(text: str, line_before: str, rest: str, following: list[str]) -> str:
    """`text` up to the line that repeats the document's next non-blank line.

    Lines are compared whole, with their indentation. A line that closes a bracket opened in `text` is not a repetition,
    nor is a common first line (of an object, method or test) that goes on differently.
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
    """The first two non-blank lines."""
    return list(islice((line.rstrip() for line in lines if line.strip()), 2))


def _differ(lines: list[str], others: list[str]) -> bool:
    return bool(lines and others) and lines[0] != others[0]


def cut_overlap(text: str, after: str) -> str:
    """`text` without an ending that `after` starts with, if that ending spans at least one line break."""
    for length in range(min(len(text), len(after)), MIN_OVERLAP_CHARACTERS, -1):
        if text.endswith(after[:length]):
            shared = after[:length]
            if "\n" in shared.rstrip() and sum(map(str.isalnum, shared)) >= MIN_OVERLAP_CHARACTERS:
                return text[: len(text) - length]
    return text
