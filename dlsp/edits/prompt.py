"""How the model is shown an edit and its sites.

The edit is a diff, in a file before the site's own. A text that the edit suggests is judged in the file's own lines,
where the model knows best how code goes on. Where the model is to find the text itself, the site is a diff that goes on
from the edit's: its lines are taken away (`-`), and what is asked for is what comes in their place (`+`), of which the
lines as they are is one answer.
"""

from collections.abc import Sequence
from typing import Any

from dlsp.edits.edit import Edit, marked
from dlsp.edits.site import Site

NAME = "edit.diff"
BEFORE, AFTER = 6, 3
"""Lines shown around a text that is judged."""
DIFF_BEFORE, DIFF_AFTER = 3, 2
MOST_TOKENS = 96


def request(edit: Edit, sites: Sequence[Site], mode: str, priority: str = "filling") -> dict[str, Any]:
    """The body of a request that has all sites judged, and asks for the model's own text where they have none."""
    return {
        "edit": [{"path": NAME, "text": edit.diff()}],
        "sites": [_judged(site, site.lines) if site.lines is not None else _open(site) for site in sites],
        "mode": mode,
        "max_tokens": MOST_TOKENS,
        "priority": priority,
    }


def _judged(site: Site, lines: Sequence[str]) -> dict[str, Any]:
    page, first, last = site.page, site.start, site.start + len(site.old)
    return {
        "path": page.path,
        "prefix": "".join(page.lines[max(0, first - BEFORE) : first]),
        "suffix": "\n" + "".join(page.lines[last : last + AFTER]),
        "text": "".join(site.old).rstrip("\r\n"),
        "candidates": ["".join(lines).rstrip("\r\n")],
        "propose": False,
    }


def _open(site: Site) -> dict[str, Any]:
    page, first, last = site.page, site.start, site.start + len(site.old)
    head = f"--- a/{page.path}\n+++ b/{page.path}\n@@ @@\n"
    before = marked(" ", page.lines[max(0, first - DIFF_BEFORE) : first]) + marked("-", site.old)
    return {
        "path": NAME,
        "prefix": head + "".join(before),
        "suffix": "".join(marked(" ", page.lines[last : last + DIFF_AFTER])),
        "text": "".join(marked("+", site.old)),
    }


def proposed(site: Site, text: str) -> tuple[str, ...] | None:
    """The lines that the model's answer puts in the site's place; None where it leaves them, or is none."""
    return proposed_lines(site.old, text)


def proposed_lines(present: Sequence[str], text: str) -> tuple[str, ...] | None:
    """What comes in the place of the present lines, by the `+` lines of a diff."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if any(not line.startswith("+") for line in lines):
        return None
    ending = "\r\n" if any(line.endswith("\r\n") for line in present) else "\n"
    new = tuple(line[1:].rstrip("\r") + ending for line in lines)
    return new if new != tuple(present) else None
