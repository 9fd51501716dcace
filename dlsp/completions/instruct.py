"""Edit selected lines by an instruction: the request, and the changes in the answer.

The model sees a patch whose subject is the instruction and which removes the selected lines; it writes the lines that
replace them. The present lines serve as its first draft, so that unchanged lines cost almost nothing.
"""

from collections.abc import Sequence
from typing import Any

from dlsp.edits.history.edit import diff_lines
from dlsp.edits.history.hunks import Hunk, canonical
from dlsp.edits.search.page import Page

# Context lines shown above and below the selection.
LINES_BEFORE, LINES_AFTER = 30, 10
PATCH_NAME = "change.patch"
MAX_LINES = 60
TOKENS_A_LINE, MIN_TOKENS, MAX_TOKENS = 40, 96, 1024


def request(page: Page, first: int, last: int, instruction: str, sketch: str, mode: str) -> dict[str, Any]:
    """Build the request for rows `first` to `last` (exclusive) of the page; `sketch` outlines the wanted result."""
    lines = page.lines
    subject = " ".join(instruction.split()) or "Work out the sketch"
    wish = f"\n{sketch.rstrip()}\n" if sketch.strip() else ""
    head = f"Subject: [PATCH] {subject}\n{wish}---\n--- a/{page.path}\n+++ b/{page.path}\n@@ @@\n"
    above = lines[max(0, first - LINES_BEFORE) : first]
    site = {
        "path": PATCH_NAME,
        "prefix": head + diff_lines(" ", above) + diff_lines("-", lines[first:last]),
        "suffix": diff_lines(" ", lines[last : last + LINES_AFTER]),
        "text": diff_lines("+", lines[first:last]),
    }
    most = max(MIN_TOKENS, min(MAX_TOKENS, TOKENS_A_LINE * (last - first)))
    return {"sites": [site], "mode": mode, "max_tokens": most, "priority": "filling"}


def changed(page: Page, first: int, last: int, answer: str) -> Hunk | None:
    """The change that `answer` makes to the rows; None if it changes nothing or is not a diff of them."""
    old: Sequence[str] = page.lines[first:last]
    lines = _written(old, answer)
    return canonical(Hunk(first, last, lines), page.lines) if lines is not None else None


def _written(present: Sequence[str], text: str) -> tuple[str, ...] | None:
    """The new lines, from the `+` lines of the answer; None if it has other lines or changes nothing."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if any(not line.startswith("+") for line in lines):
        return None
    ending = "\r\n" if any(line.endswith("\r\n") for line in present) else "\n"
    new = tuple(line[1:].rstrip("\r") + ending for line in lines)
    return new if new != tuple(present) else None
