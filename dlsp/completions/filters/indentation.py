"""Adapt the indentation of an answer to the document's."""

import re
from collections import Counter
from itertools import pairwise

# Columns of a tab; and the widths in columns that an indentation level may have.
TAB_COLUMNS = 4
LEVEL_COLUMNS = (2, 3, 4, 8)
# Lines above and below the cursor used to measure a level's width; a whole long file would take milliseconds.
LEVEL_SEARCH_LINES = 200
_LEAD = re.compile(r"^[ \t]+", re.MULTILINE)
_BLOCK = (":", "{", "=>", "do", "then")
_BRACKET = ("(", "[")
# The width of a level is measured after code only, because lines of prose may end in a colon too.
_BEGINS = re.compile(
    r"(?:.*(?:\{|=>|\bdo|\bthen)|\s*(?:async|case|class|def|elif|else|except|finally|for|if|match|try|while|with)\b.*:"
    r"|\s*(?:class|def|module|(?:local )?function)\b.*[\w)?!])\s*"
)
_MAY_BEGIN = re.compile(
    r"\s*(?:begin|case|class|def|else|elsif|ensure|for|if|module|rescue|unless|until|when|while|(?:local )?function)\b"
    r"(?!.*[;}]\s*$)"
)
_ITEM = re.compile(r"^\s*(?:- )+")
_GOES_ON = re.compile(r"\s*(?:\??\.|&&|\|\|)")


def indented(text: str, before: str, after: str) -> str:
    """`text` with the document's tabs or blanks and its level width, and without repeating the cursor's own
    indentation."""
    *above, line_before = before.split("\n")
    if line_before.strip() and "\n" not in text:
        return text
    below = after.split("\n")[1:]
    opener = next((line for line in reversed(above) if line.strip()), "")
    unit = _unit(_rises(above[-LEVEL_SEARCH_LINES:]) + _rises(below[:LEVEL_SEARCH_LINES]))
    if not line_before.strip():
        text = _once(text, line_before, opener, unit)
    text = _in_levels(text, line_before, opener, unit) if unit else text
    tabs, blanks = (before.count(lead) + after.count(lead) for lead in ("\n\t", "\n  "))
    # Some documents use both; the nearest line decides.
    by_tab = (line_before if line_before[:1].isspace() else opener).startswith("\t")
    if by_tab or (tabs > blanks and not line_before.startswith("  ")):
        lead = _tabs
    elif blanks > tabs:
        lead = _blanks
    else:
        return text
    # After text on the cursor's line, leading blanks of the answer are not indentation.
    begun = text.partition("\n")[0] if line_before.strip() else ""
    return begun + _LEAD.sub(lead, text[len(begun) :])


def _blanks(lead: re.Match[str]) -> str:
    return lead[0].expandtabs(TAB_COLUMNS)


def _tabs(lead: re.Match[str]) -> str:
    return _blanks(lead).replace(" " * TAB_COLUMNS, "\t")


def _once(text: str, line_before: str, opener: str, unit: int | None) -> str:
    """`text` without leading blanks that indent it deeper than the line above, `opener`, allows."""
    lead = len(text) - len(text.lstrip(" \t"))
    if not lead or not line_before:
        return text
    cursor, above, first = columns(line_before), columns(opener), columns(line_before + text)
    in_bracket = opener.rstrip().endswith(_BRACKET)
    in_block = opener.rstrip().endswith(_BLOCK) or bool(_MAY_BEGIN.match(opener))
    hangs = bool(_GOES_ON.match(text)) and not _GOES_ON.match(opener)
    # Arguments may be indented by two levels; if the level's width is unknown, the lines of a block may be too.
    levels = 2 if in_bracket or (in_block and not unit) else 1 if in_block or hangs else 0
    if first <= above + levels * (unit or TAB_COLUMNS) or first == columns(_ITEM.sub(_blank, opener)):
        return text
    kept = max(cursor, above + unit) if unit and levels else cursor
    head, *rest = text[lead:].split("\n")
    if all(columns(line) >= first for line in rest if line.strip()):
        rest = [_at(line, columns(line) - first + kept) for line in rest]
    return "\n".join([" " * (kept - cursor) + head, *rest])


def _blank(found: re.Match[str]) -> str:
    """Blanks in place of the marks of a list item, because its further lines are aligned with its text."""
    return found[0].replace("-", " ")


def _in_levels(text: str, line_before: str, opener: str, unit: int) -> str:
    """`text` with levels of `unit` columns, if all its levels have the same other width."""
    lines = (line_before + text).split("\n")
    begins = not line_before and bool(_BEGINS.fullmatch(opener))
    base = columns(opener if begins else next((line for line in lines if line.strip()), ""))
    widths = _rises([opener, *lines] if begins else lines)
    if len(widths) != 1 or (width := next(iter(widths))) not in LEVEL_COLUMNS or width == unit:
        return text
    depths = [columns(line) - base if line.strip() else 0 for line in lines]
    if any(depth > 0 and depth % width for depth in depths):
        return text
    levels = zip(lines, depths, strict=True)
    moved = [_at(line, base + depth // width * unit) if depth > 0 else line for line, depth in levels]
    return "\n".join(moved)[len(line_before) :]


def _rises(lines: list[str]) -> Counter[int]:
    """Count how many columns deeper lines are than the block opener right above them."""
    written = [(columns(line), line) for line in lines if line.strip()]
    steps = ((depth - least, above) for (least, above), (depth, _) in pairwise(written))
    return Counter(step for step, above in steps if step > 0 and _BEGINS.fullmatch(above))


def _unit(rises: Counter[int]) -> int | None:
    """The width of a level in columns, if most blocks agree on one; else None."""
    width, times = max(rises.items(), key=lambda item: item[1], default=(0, 0))
    return width if width in LEVEL_COLUMNS and 2 * times > rises.total() else None


def _at(line: str, column: int) -> str:
    return " " * column + line.lstrip(" \t") if line.strip() else line


def columns(line: str) -> int:
    """The width of the line's indentation in columns."""
    return len(line[: len(line) - len(line.lstrip(" \t\f"))].expandtabs(TAB_COLUMNS))
