"""`dlsp/rewrite`: selected lines, changed as an instruction says.

Params `{textDocument: {uri, version?}, range, instruction, sketch?}`. Whole lines are taken. The result is
`{textDocument: {uri, version}, range, newText}`, for that version of the document; an error says why there is none.
"""

import asyncio
from contextlib import aclosing
from typing import Any

from dlsp.completions.instruct import MOST_LINES, changed, request
from dlsp.edits.carry import Offer
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.search.page import Page
from dlsp.engine.client import EngineGone
from dlsp.errors import UserError
from dlsp.server.edits import Edits, key
from dlsp.server.refusals import refusing
from dlsp.server.server import document_path
from dlsp.server.spots import Spots, plain
from dlsp.syntax import languages

METHOD = "dlsp/rewrite"
REWRITE_S = 180


def add(edits: Edits) -> None:
    """Give the server the request."""

    @edits.server.feature(METHOD)
    async def rewrite(params: Any) -> dict[str, Any]:
        with refusing():
            async with asyncio.timeout(REWRITE_S):
                with edits.server.status:
                    return await edits.server.latest.run(key(params.textDocument.uri), rewritten(edits, params))


async def rewritten(edits: Edits, params: Any) -> dict[str, Any]:
    """The edit that follows the instruction. Raises UserError."""
    uri, server = params.textDocument.uri, edits.server
    document, path = edits.server.document(uri), document_path(uri)
    if document is None:
        raise UserError("The document is not open.")
    workspace = server.surroundings(uri)
    if why := workspace.excludes(path):
        raise UserError(f"This file is never shown to the model: {why}.")
    version, page = document.version, Page(uri, workspace.name(path), document.source, languages.of(path))
    first, last = _rows(page, params.range)
    link = server.link(uri)
    engine = await link.ready()
    if engine is None:
        raise UserError(f"Nothing can be rewritten yet: {link.quiet.value}.")
    wish = str(getattr(params, "instruction", "")), str(getattr(params, "sketch", None) or "")
    answer = ""
    try:
        body = request(page, first, last, *wish, server.settings(uri).mode)
        async with aclosing(engine.sites(body)) as events:
            async for event in events:
                answer = event["proposal"]["text"]
    except EngineGone as error:
        link.lost(engine, error)
        raise
    hunk = changed(page, first, last, answer)
    spot = Spots(server).spot(_offer(page, hunk)) if hunk else None
    if spot is None:
        raise UserError("The model would leave these lines as they are; say more about what to change.")
    return {"textDocument": {"uri": uri, "version": version}, "range": plain(spot.range), "newText": spot.new}


def _rows(page: Page, span: Any) -> tuple[int, int]:
    """The rows that a selection touches; one that ends at a line's start does not touch that line."""
    first, last = span.start.line, span.end.line + (span.end.character > 0 or span.end.line == span.start.line)
    if not 0 <= first < last or first >= len(page.lines):
        raise UserError("Select the lines to rewrite.")
    if last - first > MOST_LINES:
        raise UserError(f"Select at most {MOST_LINES} lines.")
    return first, min(last, len(page.lines))


def _offer(page: Page, hunk: Hunk) -> Offer:
    return Offer("", page.uri, hunk, tuple(page.lines[hunk.start : hunk.end]), 1.0)
