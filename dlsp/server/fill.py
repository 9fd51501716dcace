"""`dlsp/fill`: the body of the function at a position, streamed while it comes into focus.

Params `{textDocument, position, range?, partialResultToken?, seed?}`; the lines of a `range` are written anew, and a
seed other than 0 gives an alternative. Each partial result, a `$/progress` of that token, is
`{range, committed, canvas}`: fixed text, then the positions being denoised, None for a mask. The result is
`{range, newText}` to apply to the document as it was when this was asked; an error says why there is none.
"""

import asyncio
from types import SimpleNamespace
from typing import Any

from lsprotocol import types

from dlsp.completions.body import request, write
from dlsp.completions.filters.text import line_ending, with_endings
from dlsp.context.parts import plain
from dlsp.engine.client import EngineGone
from dlsp.errors import UserError
from dlsp.function import NO_FUNCTION, Gap, gap, selected
from dlsp.server.documents import Document
from dlsp.server.refusals import refusing
from dlsp.server.server import Server, document_path

METHOD = "dlsp/fill"
COMMAND = "dlsp.fill"
TITLE = "Fill function"
FILL_S = 180


def add(server: Server) -> None:
    """Give the server the request and the command."""

    @server.feature(METHOD)
    async def filled(params: Any) -> dict[str, Any]:
        return await fill(server, params)

    @server.command(COMMAND)
    async def command(uri: str, position: Any, *end: Any) -> None:  # pygls gives no defaults
        with refusing():
            document = types.OptionalVersionedTextDocumentIdentifier(uri, _document(server, uri).version)
        span = types.Range(_read(position), _read(end[0])) if end else None
        asked = SimpleNamespace(textDocument=SimpleNamespace(uri=uri), position=_read(position), range=span)
        edit = await fill(server, asked)
        written = types.Range(_read(edit["range"]["start"]), _read(edit["range"]["end"]))
        changes = types.TextDocumentEdit(document, [types.TextEdit(written, edit["newText"])])
        whole = types.WorkspaceEdit(document_changes=[changes])
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(whole, TITLE))


async def fill(server: Server, params: Any) -> dict[str, Any]:
    """The edit that writes the body. Raises JsonRpcException with one sentence for the user."""
    uri = params.textDocument.uri
    with refusing("Another function is being filled in now."):
        async with asyncio.timeout(FILL_S):
            return await server.latest.run(f"fill {uri}", _fill(server, uri, params))


def code_actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """ "Fill function" where the function at the cursor has no body."""
    uri, span = params.text_document.uri, params.range
    try:
        _place(_document(server, uri), span)
    except UserError:
        return []
    start, end = ({"line": each.line, "character": each.character} for each in (span.start, span.end))
    command = types.Command(TITLE, COMMAND, arguments=[uri, start, *([end] if end != start else [])])
    return [types.CodeAction(TITLE, kind=types.CodeActionKind.RefactorRewrite, command=command)]


async def _fill(server: Server, uri: str, params: Any) -> dict[str, Any]:
    document = _document(server, uri)
    text, place = _place(document, _range_of(params))
    link = server.link(uri)
    engine = await link.ready()
    if engine is None:
        raise UserError(f"Nothing can be filled in yet: {link.quiet.value}.")

    ending, span = line_ending(document.source), _range(document, text, place)
    token = getattr(params, "partialResultToken", None)
    workspace, file = server.surroundings(uri), document_path(uri)
    if why := workspace.excludes(file):
        raise UserError(f"This file is never shown to the model: {why}.")
    context = workspace.context(file, text[: place.start] + place.lead, place.tail + text[place.end :])
    seed = int(getattr(params, "seed", None) or 0)
    asked = request(context, workspace.name(file), server.settings(uri).mode, seed)

    def see(event: dict[str, Any]) -> None:
        if token is not None:
            seen = {"committed": place.lead + event["committed"], "canvas": event["canvas"]}
            server.progress(types.ProgressParams(token, {"range": span, **seen}))

    try:
        written = await write(engine, asked, text, place, workspace.source(file), see)
    except EngineGone as error:
        link.lost(engine, error)
        raise
    return {"range": span, "newText": with_endings(written, ending)}


def _document(server: Server, uri: str) -> Document:
    document = server.document(uri)
    if document is None:
        raise UserError("The function is not in an open document.")
    return document


def _place(document: Document, span: types.Range) -> tuple[str, Gap]:
    """The document with `\\n` at the line ends, and the gap in it: of the lines selected, else at the cursor, which in
    Helix is a selection of one character."""
    text = plain(document.source)
    cursors = [document.cursor(each) for each in (span.start, span.end)]
    start, end = (len(plain(document.source[: each[0]])) if each else 0 for each in cursors)
    found = None
    if cursors[0]:
        found = (selected(text, start, end) if len(text[start:end].strip()) > 1 else None) or gap(text, start)
    if found is None:
        raise UserError(NO_FUNCTION)
    return text, found


def _range(document: Document, text: str, place: Gap) -> dict[str, Any]:
    """The gap as a range of the protocol."""

    def position(offset: int) -> dict[str, int]:
        line, column = text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)
        units = document.position_codec.client_num_units(text[offset - column : offset])
        return {"line": line, "character": units}

    return {"start": position(place.start), "end": position(place.end)}


def _range_of(params: Any) -> types.Range:
    """What was selected, else the cursor's place."""
    if span := getattr(params, "range", None):
        return types.Range(_read(span.start), _read(span.end))
    return types.Range(_read(params.position), _read(params.position))


def _read(position: Any) -> types.Position:
    """A position as pygls hands it on in requests of our own: an object or a mapping."""
    if isinstance(position, dict):
        return types.Position(position["line"], position["character"])
    return types.Position(position.line, position.character)
