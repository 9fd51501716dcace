"""`dlsp/fill`: write the body of the function at a position, streamed while it is denoised.

Params: `{textDocument, position, range?, partialResultToken?, seed?}`. The lines of a `range` are rewritten; a seed
other than 0 gives an alternative. Each partial result, a `$/progress` with that token, is `{range, committed, canvas}`:
the final text so far, then the positions being denoised, None for a mask. The result is `{range, newText}`, an edit of
the document as it was at the request; an error gives the reason. A change of the document cancels the request, except
changes inside the range, because editors may display the text there while it is being written.
"""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from lsprotocol import types

from dlsp.completions import body
from dlsp.completions.filters.text import line_ending, with_endings
from dlsp.completions.generation import connection_for
from dlsp.completions.types import Snapshot
from dlsp.context.parts import Context, plain
from dlsp.engine.connection import EnginePool
from dlsp.errors import UserError
from dlsp.function import NO_FUNCTION, Gap, gap, selected
from dlsp.server import params as read
from dlsp.server.documents import Document
from dlsp.server.features.positions import Positions, as_json
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks, refusing

METHOD = "dlsp/fill"
COMMAND = "dlsp.fill"
TITLE = "Fill function"
FEATURE = "fill"
TIMEOUT_S = 180


class Fills:
    """Answers the request and the command, and offers the code action."""

    def __init__(self, session: Session, engines: EnginePool, tasks: Tasks) -> None:
        self._session, self._engines, self._tasks = session, engines, tasks
        self._ranges: dict[str, types.Range] = {}  # ranges in which the editor may display the text being written

    def register(self, server: Server) -> None:
        """Register the request and the command."""

        @server.feature(METHOD)
        async def fill(params: Any) -> dict[str, Any]:
            return await self.fill(read.read(read.Fill, params))

        @server.command(COMMAND)
        async def command(uri: str, position: Any, *end: Any) -> None:  # pygls supplies no defaults
            start = read.read(read.Position, position)
            span = read.Range(start, read.read(read.Position, end[0])) if end else None
            snapshot = self._session.snapshot(uri)
            edit = await self.fill(read.Fill(read.Document(uri), start, span))
            changes = types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(uri, snapshot.version if snapshot else None),
                [types.TextEdit(read.read(read.Range, edit["range"]).lsp(), edit["newText"])],
            )
            await self._session.client.apply_edit(types.WorkspaceEdit(document_changes=[changes]), TITLE)

    async def fill(self, params: read.Fill) -> dict[str, Any]:
        """The edit that inserts the body. Raises JsonRpcException with a message for the user."""
        uri = params.text_document.uri
        with refusing(), self._session.client.status.busy():
            async with asyncio.timeout(TIMEOUT_S):
                try:
                    return await self._tasks.run(FEATURE, uri, self._fill(params))
                finally:
                    self._ranges.pop(unquote(uri), None)

    def changed(self, uri: str, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        """The document was changed: cancel its fill, unless the change is inside the filled range."""
        for change in changes:
            within = self._ranges.get(unquote(uri))
            moved = _moved_end(within, change, self._session.units) if within else None
            if within is None or moved is None:
                self._tasks.cancel(FEATURE, uri)
                return
            self._ranges[unquote(uri)] = types.Range(within.start, moved)

    def code_actions(self, uri: str, span: types.Range) -> list[types.CodeAction]:
        """The code action "Fill function", if the function at the cursor has no body or lines of one are selected."""
        document = self._session.document(uri)
        if document is None or _find_gap(document, span) is None:
            return []
        start, end = ({"line": each.line, "character": each.character} for each in (span.start, span.end))
        command = types.Command(TITLE, COMMAND, arguments=[uri, start, *([end] if end != start else [])])
        return [types.CodeAction(TITLE, kind=types.CodeActionKind.RefactorRewrite, command=command)]

    async def _fill(self, params: read.Fill) -> dict[str, Any]:
        uri = params.text_document.uri
        document = self._session.document(uri)
        snapshot = await self._session.snapshot_for_request(uri)
        if document is None or snapshot is None:
            raise UserError("The function is not in an open document.")
        cursor = params.position and params.position.lsp()
        span = params.range.lsp() if params.range else types.Range(cursor, cursor) if cursor else None
        place = _find_gap(document, span) if span else None
        if place is None:
            raise UserError(NO_FUNCTION)
        text = plain(snapshot.text)
        written = Positions(text, self._session.units).range(place.start, place.end)
        self._ranges[unquote(uri)] = written

        connection = connection_for(snapshot.settings, self._engines)
        if not await connection.ready():
            raise UserError(f"Nothing can be filled in yet: {connection.unavailable.value}.")
        context = await self._session.worker(_context, snapshot, text, place)
        asked = body.request(context, snapshot.name, snapshot.settings.mode, params.seed or 0)

        def on_canvas(event: dict[str, Any]) -> None:
            seen = {"committed": place.lead + event["committed"], "canvas": event["canvas"]}
            self._session.client.partial_result(params.partial_result_token, {"range": as_json(written), **seen})

        async def finish(answer: str) -> str:
            return await self._session.worker(_finished, snapshot, text, place, answer)

        new = await body.write(connection, asked, finish, on_canvas)
        return {"range": as_json(written), "newText": with_endings(new, line_ending(snapshot.text))}


def _context(snapshot: Snapshot, text: str, place: Gap) -> Context:
    """The context of the gap. Raises UserError if the document is excluded."""
    workspace = snapshot.workspace
    if why := workspace.excludes(snapshot.path):
        raise UserError(f"This file is never shown to the model: {why}.")
    before, after = text[: place.start] + place.lead, place.tail + text[place.end :]
    return workspace.context(snapshot.path, before, after, language=snapshot.language)


def _finished(snapshot: Snapshot, text: str, place: Gap, answer: str) -> str:
    """The text that replaces the gap, from the engine's answer. Raises UserError if nothing is left."""
    return body.body(answer, text, place, snapshot.workspace.source(snapshot.path, snapshot.language))


def _find_gap(document: Document, span: types.Range) -> Gap | None:
    """The gap at the cursor or for the selected lines, with offsets as if line endings were `\\n`; None if there is
    none.

    In Helix, a cursor is a selection of one character.
    """
    text = plain(document.source)
    cursors = [document.cursor(each) for each in (span.start, span.end)]
    start, end = (len(plain(document.source[: each[0]])) if each else 0 for each in cursors)
    if not cursors[0]:
        return None
    return (selected(text, start, end) if len(text[start:end].strip()) > 1 else None) or gap(text, start)


def _moved_end(within: types.Range, change: types.TextDocumentContentChangeEvent, units: Any) -> types.Position | None:
    """The new end of a range after a change inside it; None if the change is not inside."""
    if not isinstance(change, types.TextDocumentContentChangePartial):
        return None
    start, end = change.range.start, change.range.end
    if start < within.start or end > within.end:
        return None
    lines = change.text.replace("\r\n", "\n").split("\n")
    row = start.line + len(lines) - 1
    column = units(lines[-1]) + (start.character if len(lines) == 1 else 0)
    if within.end.line > end.line:
        return types.Position(within.end.line - end.line + row, within.end.character)
    return types.Position(row, column + within.end.character - end.character)
