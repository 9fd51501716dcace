"""Cut an answer where it repeats a definition that is already near the cursor."""

import re
from collections.abc import Iterable

from dlsp.completions.filters.indentation import columns

_DEFINES = re.compile(
    r"\s*(?:[\w()]+ +)*?(?:(?:class|def|enum|fn|function|interface|struct|trait) +|func +(?:\([^)]*\) *)?)\w"
)


def cut_defined(text: str, above: str, below: str) -> str:
    """`text` up to a line that begins a definition already present in the same block, above or below.

    A block ends at a line with less indentation.
    """
    *before, line_before = above.split("\n")
    after = below.split("\n")[1:]
    start = 0
    for number, line in enumerate(text.split("\n")):
        shown = line if number else line_before + line
        is_whole = number > 0 or not line_before.strip()
        if is_whole and _DEFINES.match(shown) and (_has(after, shown) or _has(reversed(before), shown)):
            return text[:start]
        start += len(line) + 1
    return text


def _has(block: Iterable[str], line: str) -> bool:
    depth = columns(line)
    for each in block:
        if each.rstrip() == line.rstrip():
            return True
        if each.strip() and columns(each) < depth:
            return False
    return False
