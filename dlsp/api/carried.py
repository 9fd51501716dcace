"""What follows in a region from the user's last edit, by dlsp's own next edits: found by what the edit changed, by
scopes and imports, and where these leave doubts judged by the model."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from dlsp.api.answer import Engine, asked
from dlsp.api.diffs import Diff, diffs_of, excerpts, is_same_file, last_edit
from dlsp.api.edits import Edit
from dlsp.edits.history import edit as history
from dlsp.edits.history.history import MAX_EDIT_LINES
from dlsp.edits.history.hunks import applied
from dlsp.edits.rank.proposals import Proposal, proposals
from dlsp.edits.search.page import Page
from dlsp.syntax import languages

# Larger files are left to the chat model, which reads a part of them.
MAX_CHARACTERS = 400_000


async def carried(engine: Engine, edit: Edit) -> tuple[str, float] | None:
    """The region with the last edit carried on, and how sure that is, from 0 to 1; None if nothing in it follows from
    the edit. Raises what the engine's client raises."""
    text = edit.before + edit.region + edit.after
    found = None if len(text) > MAX_CHARACTERS else _last(edit, text)
    if found is None:
        return None
    last, own, pages = found
    page = pages[0]
    kept: list[Proposal] = []
    async with aclosing(proposals(_Asking(engine), last, own, pages)) as proposed:
        async for each in proposed:
            start, end = (page.starts[row] for row in (each.hunk.start, each.hunk.end))
            within = len(edit.before) <= start and end <= len(edit.before) + len(edit.region) + 1
            if each.site.page is page and within and not any(each.hunk.touches(other.hunk) for other in kept):
                kept.append(each)
    if not kept:
        return None
    whole = "".join(applied(page.lines, [each.hunk for each in kept]))
    region = whole[len(edit.before) : len(whole) - len(edit.after)]
    return region, min(each.confidence for each in kept)


def _last(edit: Edit, text: str) -> tuple[history.Edit, Page, list[Page]] | None:
    """The last edit, its page, and all pages, the region's first; None if it is not known or too large."""
    diffs = diffs_of(edit.changes)
    if not diffs:
        return None
    path, language = edit.path or diffs[-1].path, languages.of(edit.path or diffs[-1].path)
    if found := last_edit(diffs, path, text):
        page = own = Page("region", path, text, language, tuple(found.ranges()))
    elif not is_same_file(diffs[-1].path, path):
        page, (found, own) = Page("region", path, text, language), _elsewhere(diffs[-1], edit)
    else:
        return None
    pages = [page] if own is page else [page, own]
    return (found, own, pages) if 0 < found.size <= MAX_EDIT_LINES else None


def _elsewhere(diff: Diff, edit: Edit) -> tuple[history.Edit, Page]:
    """The edit of another file, in as much of it as is shown."""
    shown = [text for path, text in edit.snippets if is_same_file(path, diff.path)]
    known = next((found for text in shown if (found := last_edit([diff], diff.path, text))), None)
    if known:
        after = "".join(applied(known.before, known.hunks))
    else:
        before, after = excerpts(diff)
        known = history.Edit.between(diff.path, before, after)
    return known, Page("elsewhere", diff.path, after, languages.of(diff.path), tuple(known.ranges()))


class _Asking:
    """The engine, started and asked again if it has ended."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def sites(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        return asked(self._engine, self._engine.sites, request)
