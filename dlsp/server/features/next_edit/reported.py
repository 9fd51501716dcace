"""What the editor's other language servers report of the pages of a next edit."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from lsprotocol import types

from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.search.page import Error, Page
from dlsp.server.client import Question
from dlsp.server.documents import Document
from dlsp.server.params import Change
from dlsp.server.session import Session

# Seconds until an edit is carried on without what is not told yet.
WAIT_S = 1.0
# The most open documents that are asked about, and errors of each.
MAX_PAGES, MAX_ERRORS = 16, 100
# Characters that are kept of an error's message.
MAX_CHARACTERS = 2000


async def reported(session: Session, pages: Sequence[Page]) -> list[Page]:
    """The pages of open documents with the errors that are reported of them, if the editor tells them in time."""
    if not session.client.asks_servers:
        return list(pages)
    errors = await asyncio.gather(*(_errors(session, page) for page in pages[:MAX_PAGES]))
    found = [replace(page, errors=told) for page, told in zip(pages, errors, strict=False)]
    return [*found, *pages[MAX_PAGES:]]


async def _errors(session: Session, page: Page) -> tuple[Error, ...]:
    rows = (page.edited[0][0], page.edited[-1][1]) if page.edited else None
    told = await session.client.ask_servers(Question(page.uri, diagnostics=True, fixes=rows), WAIT_S)
    document = session.document(page.uri)
    if told is None or document is None or document.source != page.text:
        return ()
    found: dict[Error, None] = {}
    for each in (told.diagnostics or [])[:MAX_ERRORS]:
        at = None if each.character is None else document.cursor(types.Position(each.line, each.character))
        if at:
            found[Error(at[0], each.message[:MAX_CHARACTERS], _fix(document, each.edits or []))] = None
    return tuple(found)


def _fix(document: Document, edits: Sequence[Change]) -> Hunk | None:
    """What a quick fix changes; None if that is nothing, or in several places."""
    text = document.source
    for each in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        start, end = document.cursor(each.range.start.lsp()), document.cursor(each.range.end.lsp())
        if start is None or end is None or end[0] < start[0]:
            return None
        text = text[: start[0]] + each.new_text + text[end[0] :]
    hunks = Edit.between("", document.source, text).hunks
    return hunks[0] if len(hunks) == 1 else None
