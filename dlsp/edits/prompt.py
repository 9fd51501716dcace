"""How the model is shown an edit and its sites: the edit as a diff, in a file before the site's own.

A site is a gap of its file, between the lines around it: there the model knows best how code goes on.
"""

from collections.abc import Sequence
from typing import Any

from dlsp.edits.edit import Edit
from dlsp.edits.site import Site

NAME = "edit.diff"
BEFORE, AFTER = 6, 3
"""Lines shown around a text that is judged."""


def request(edit: Edit, sites: Sequence[Site]) -> dict[str, Any]:
    """The body of a request that has all sites judged."""
    return {"edit": [{"path": NAME, "text": edit.diff()}], "sites": [_site(site) for site in sites]}


def _site(site: Site) -> dict[str, Any]:
    page, first, last = site.page, site.start, site.start + len(site.old)
    return {
        "path": page.path,
        "prefix": "".join(page.lines[max(0, first - BEFORE) : first]),
        "suffix": "\n" + "".join(page.lines[last : last + AFTER]),
        "text": "".join(site.old).rstrip("\r\n"),
        "candidates": ["".join(site.lines).rstrip("\r\n")],
        "propose": False,
    }
