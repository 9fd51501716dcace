"""`dlsp/fill`: the body of the function at a position, streamed while it comes into focus.

Params `{textDocument, position, partialResultToken?, seed?}`. Each partial result, a `$/progress` of that token, is
`{range, committed, canvas}`: fixed text, then the positions being denoised, None for a mask. The result is
`{range, newText}` to apply to the document as it was when this was asked; an error says why there is none.
"""

import asyncio
from contextlib import aclosing
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp import suggest
from dlsp.completion.endings import line_ending, with_endings
from dlsp.completion.special import cut_special
from dlsp.engine.client import EngineGone
from dlsp.errors import UserError
from dlsp.function import Gap, gap
from dlsp.server.documents import Document
from dlsp.server.latest import Stale
from dlsp.server.server import Server, document_path

METHOD = "dlsp/fill"
COMMAND = "dlsp.fill"
TITLE = "Fill function"
FILL_S = 180
NO_FUNCTION = "Put the cursor on a function without a body (nothing, `...`, `pass` or a TODO) to fill it in."


def add(server: Server) -> None:
    """Give the server the request and the command."""

    @server.feature(METHOD)
    async def request(params: Any) -> dict[str, Any]:
        return await fill(server, params)

    @server.command(COMMAND)
    async def command(uri: str, position: Any) -> None:
        document = types.OptionalVersionedTextDocumentIdentifier(uri, _document(server, uri).version)
        edit = await fill(server, SimpleNamespace(textDocument=SimpleNamespace(uri=uri), position=_read(position)))
        start, end = _read(edit["range"]["start"]), _read(edit["range"]["end"])
        changes = types.TextDocumentEdit(document, [types.TextEdit(types.Range(start, end), edit["newText"])])
        whole = types.WorkspaceEdit(document_changes=[changes])
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(whole, TITLE))


async def fill(server: Server, params: Any) -> dict[str, Any]:
    """The edit that writes the body. Raises JsonRpcException with one sentence for the user."""
    uri = params.textDocument.uri
    try:
        async with asyncio.timeout(FILL_S):
            return await server.latest.run(f"fill {uri}", _fill(server, uri, params))
    except Stale:
        raise _refusal("Another function is being filled in now.", types.LSPErrorCodes.ServerCancelled) from None
    except TimeoutError:
        raise _refusal("The engine took too long; try again.") from None
    except UserError as error:
        raise _refusal(str(error)) from None


def code_actions(server: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """ "Fill function" where the function at the cursor has no body."""
    uri, position = params.text_document.uri, params.range.start
    try:
        _place(_document(server, uri), position)
    except UserError:
        return []
    where = {"line": position.line, "character": position.character}
    command = types.Command(TITLE, COMMAND, arguments=[uri, where])
    return [types.CodeAction(TITLE, kind=types.CodeActionKind.RefactorRewrite, command=command)]


async def _fill(server: Server, uri: str, params: Any) -> dict[str, Any]:
    document = _document(server, uri)
    text, place = _place(document, _read(params.position))
    link = server.link(uri)
    link.make()
    engine = link.engine
    if engine is None:
        raise UserError(f"Nothing can be filled in yet: {link.quiet.value}.")

    ending, span = line_ending(document.source), _range(document, text, place)
    token = getattr(params, "partialResultToken", None)
    workspace, file = server.surroundings(uri), document_path(uri)
    if why := workspace.excludes(file):
        raise UserError(f"This file is never shown to the model: {why}.")
    request = suggest.request(
        workspace.context(file, text[: place.start] + place.lead, place.tail + text[place.end :]),
        path=workspace.name(file),
        mode=server.settings(uri).mode,
        end="body",
        priority="filling",
        seed=getattr(params, "seed", None) or 0,
    )
    try:
        async with aclosing(engine.infill(request)) as events:
            async for event in events:
                if event["event"] == "fill":
                    body = cut_special(event["text"]).rstrip()
                    if not body.strip():
                        raise UserError("The model has nothing to fill in here.")
                    return {"range": span, "newText": with_endings(place.lead + body + place.tail, ending)}
                if token is not None and event["event"] == "canvas":
                    seen = {"committed": place.lead + event["committed"], "canvas": event["canvas"]}
                    server.progress(types.ProgressParams(token, {"range": span, **seen}))
    except EngineGone:
        link.lost(engine)
        raise
    raise UserError("The engine gave no answer; try again.")


def _document(server: Server, uri: str) -> Document:
    document = server.workspace.text_documents.get(unquote(uri))
    if not isinstance(document, Document):
        raise UserError("The function is not in an open document.")
    return document


def _place(document: Document, position: types.Position) -> tuple[str, Gap]:
    """The document with `\\n` at the line ends, and the gap in it."""
    cursor = document.cursor(position)
    text = _plain(document.source)
    found = gap(text, len(_plain(document.source[: cursor[0]]))) if cursor else None
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


def _read(position: Any) -> types.Position:
    """A position as pygls hands it on in requests of our own: an object or a mapping."""
    if isinstance(position, dict):
        return types.Position(position["line"], position["character"])
    return types.Position(position.line, position.character)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _refusal(sentence: str, code: int = types.LSPErrorCodes.RequestFailed) -> JsonRpcException:
    return JsonRpcException(sentence, code)
