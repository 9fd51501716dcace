"""How the model is shown an edit and its sites: the edit as a diff, in a file before the site's own.

A site is a gap of its file, between the lines around it: there the model knows best how code goes on.
"""

from collections.abc import Sequence
from typing import Any

from dlsp.edits.edit import Edit
from dlsp.edits.site import Site
from dlsp.edits.tokens import LONGEST

NAME = "edit.diff"
BEFORE, AFTER = 6, 3
"""Lines shown around a text that is judged."""
AROUND, EDIT = 2_000, 100_000
"""Characters of the same on each side, and of the edit, at most: the engine refuses what is too long as a whole."""


def request(edit: Edit, sites: Sequence[Site]) -> dict[str, Any]:
    """The body of a request that has all sites judged."""
    return {"edit": [{"path": NAME, "text": _shown(edit)}], "sites": [_site(site) for site in sites]}


def _shown(edit: Edit) -> str:
    return "\n".join(line[:LONGEST] for line in edit.diff().split("\n"))[:EDIT]


def _site(site: Site) -> dict[str, Any]:
    page, first, last = site.page, site.start, site.start + len(site.old)
    return {
        "path": page.path,
        "prefix": "".join(page.lines[max(0, first - BEFORE) : first])[-AROUND:],
        "suffix": "\n" + "".join(page.lines[last : last + AFTER])[:AROUND],
        "text": "".join(site.old).rstrip("\r\n"),
        "candidates": ["".join(site.lines).rstrip("\r\n")],
        "propose": False,
    }
