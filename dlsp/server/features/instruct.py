"""`dlsp/instruct`: edit selected lines by an instruction.

Params: `{textDocument: {uri, version?}, range, instruction, sketch?}`; the range is extended to whole lines. The result
is `{textDocument: {uri, version}, range, newText}` for that version of the document; an error gives the reason.
"""

import asyncio
from contextlib import aclosing
from typing import Any

from dlsp.completions.generation import connection_for
from dlsp.completions.instruct import MAX_LINES, changed, request
from dlsp.edits.carry import Offer
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.search.page import Page
from dlsp.engine.connection import EnginePool
from dlsp.errors import UserError
from dlsp.server import params as read
from dlsp.server.features.next_edit.locations import Locations
from dlsp.server.features.positions import as_json
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks, refusing

# The second is its former name, for editors that still use it.
METHODS = "dlsp/instruct", "dlsp/rewrite"
FEATURE = "instruct"
TIMEOUT_S = 180


def register(server: Server, session: Session, engines: EnginePool, tasks: Tasks) -> None:
    """Register the request."""

    async def instruct(params: Any) -> dict[str, Any]:
        asked = read.read(read.Instruct, params)
        with refusing(), session.client.status.busy():
            async with asyncio.timeout(TIMEOUT_S):
                work = instructed(session, engines, asked)
                return await tasks.run(FEATURE, asked.text_document.uri, work)

    for method in METHODS:
        server.feature(method)(instruct)


async def instructed(session: Session, engines: EnginePool, params: read.Instruct) -> dict[str, Any]:
    """The edit for the instruction. Raises UserError."""
    snapshot = await session.snapshot_for_request(params.text_document.uri)
    if snapshot is None:
        raise UserError("The document is not open.")
    if why := await session.worker(snapshot.workspace.excludes, snapshot.path):
        raise UserError(f"This file is never shown to the model: {why}.")
    page = Page(snapshot.uri, snapshot.name, snapshot.text, snapshot.language)
    first, last = _rows(page, params.range)
    connection = connection_for(snapshot.settings, engines)
    if not await connection.ready():
        raise UserError(f"Nothing can be changed yet: {connection.unavailable.value}.")
    answer = ""
    asked = request(page, first, last, params.instruction, params.sketch or "", snapshot.settings.mode)
    async with aclosing(connection.sites(asked)) as events:
        async for event in events:
            answer = event["proposal"]["text"]
    hunk = changed(page, first, last, answer)
    location = Locations(session).locate(_offer(page, hunk)) if hunk else None
    if location is None:
        raise UserError("The model would leave these lines as they are; say more about what to change.")
    document = {"uri": params.text_document.uri, "version": snapshot.version}
    return {"textDocument": document, "range": as_json(location.range), "newText": location.new}


def _rows(page: Page, span: read.Range) -> tuple[int, int]:
    """The rows that a selection covers, as (first, end); a line whose start is the selection's end is not covered."""
    first, last = span.start.line, span.end.line + (span.end.character > 0 or span.end.line == span.start.line)
    if not 0 <= first < last or first >= len(page.lines):
        raise UserError("Select the lines to change.")
    if last - first > MAX_LINES:
        raise UserError(f"Select at most {MAX_LINES} lines.")
    return first, min(last, len(page.lines))


def _offer(page: Page, hunk: Hunk) -> Offer:
    return Offer("", page.uri, hunk, tuple(page.lines[hunk.start : hunk.end]), 1.0)
