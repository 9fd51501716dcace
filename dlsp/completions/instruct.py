"""What the model is asked for a selection and an instruction, and what its answer changes.

It sees the instruction as the subject of a patch that takes the selected lines away, and is asked for what comes in
their place. Lines as they stand are its first draft, so those that the instruction leaves alone cost next to nothing.
"""

from collections.abc import Sequence
from typing import Any

from dlsp.edits.history.edit import diff_lines
from dlsp.edits.history.hunks import Hunk, canonical
from dlsp.edits.search.page import Page

BEFORE, AFTER = 30, 10
"""Lines shown around the selection."""
NAME = "change.patch"
MOST_LINES = 60
TOKENS_A_LINE, FEWEST_TOKENS, MOST_TOKENS = 40, 96, 1024


def request(page: Page, first: int, last: int, instruction: str, sketch: str, mode: str) -> dict[str, Any]:
    """The body of a request for rows `first` to `last` of the page; the sketch says roughly what should come out."""
    lines = page.lines
    subject = " ".join(instruction.split()) or "Work out the sketch"
    wish = f"\n{sketch.rstrip()}\n" if sketch.strip() else ""
    head = f"Subject: [PATCH] {subject}\n{wish}---\n--- a/{page.path}\n+++ b/{page.path}\n@@ @@\n"
    site = {
        "path": NAME,
        "prefix": head + diff_lines(" ", lines[max(0, first - BEFORE) : first]) + diff_lines("-", lines[first:last]),
        "suffix": diff_lines(" ", lines[last : last + AFTER]),
        "text": diff_lines("+", lines[first:last]),
    }
    most = max(FEWEST_TOKENS, min(MOST_TOKENS, TOKENS_A_LINE * (last - first)))
    return {"sites": [site], "mode": mode, "max_tokens": most, "priority": "filling"}


def changed(page: Page, first: int, last: int, answer: str) -> Hunk | None:
    """What an answer changes among the rows; None where it is nothing, or no diff of them."""
    old: Sequence[str] = page.lines[first:last]
    lines = _written(old, answer)
    return canonical(Hunk(first, last, lines), page.lines) if lines is not None else None


def _written(present: Sequence[str], text: str) -> tuple[str, ...] | None:
    """What comes in the place of the present lines, by the `+` lines of a diff."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if any(not line.startswith("+") for line in lines):
        return None
    ending = "\r\n" if any(line.endswith("\r\n") for line in present) else "\n"
    new = tuple(line[1:].rstrip("\r") + ending for line in lines)
    return new if new != tuple(present) else None
