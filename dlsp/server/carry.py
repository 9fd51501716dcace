"""The code action and the command that carry the last edit on to all sites at once that certainly follow it."""

import asyncio
from contextlib import aclosing
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.edits.carry import Offer
from dlsp.errors import UserError
from dlsp.server.edits import Edits, key
from dlsp.server.latest import Stale
from dlsp.server.spots import Spot, Spots

COMMAND = "dlsp.carryEdit"
KIND = types.CodeActionKind.RefactorRewrite
LOOKING_S = 4.0


def add(edits: Edits) -> None:
    """Give the server the command."""
    server = edits.server

    @server.command(COMMAND)
    async def command(uri: str) -> None:
        try:
            edit = workspace_edit(edits, await _asked(edits, uri))
        except Stale:
            return
        except UserError as error:
            raise JsonRpcException(str(error), types.LSPErrorCodes.RequestFailed) from None
        if edit is None:
            raise JsonRpcException("No place follows this edit for certain.", types.LSPErrorCodes.RequestFailed)
        await server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "Carry this edit on"))


async def code_actions(edits: Edits, params: types.CodeActionParams) -> list[types.CodeAction]:
    """ "Carry this edit on (N places)". Without the user's asking for actions only if its places are known."""
    uri, automatic = params.text_document.uri, types.CodeActionTriggerKind.Automatic
    only = params.context.only
    if only and not any(KIND.value.startswith(getattr(each, "value", each)) for each in only):
        return []
    offers = edits.carry(uri).known()
    if offers is None and params.context.trigger_kind != automatic and edits.last(uri):
        try:
            async with asyncio.timeout(LOOKING_S):
                offers = await _asked(edits, uri)
        except (TimeoutError, Stale, UserError):
            offers = []
    edit = workspace_edit(edits, offers or [])
    if edit is None:
        return []
    count = sum(len(each.edits) for each in edit.document_changes or () if isinstance(each, types.TextDocumentEdit))
    title = f"Carry this edit on ({count} place{'' if count == 1 else 's'})"
    return [types.CodeAction(title, kind=KIND, edit=edit)]


def workspace_edit(edits: Edits, offers: list[Offer]) -> types.WorkspaceEdit | None:
    """One edit of all documents, versioned, annotated where the client knows annotations; None without a place that is
    certain."""
    spots = Spots(edits.server)
    found: dict[str, list[Spot]] = {}
    for offer in offers:
        if offer.certain and (spot := spots.spot(offer)):
            found.setdefault(spot.uri, []).append(spot)
    if not found:
        return None
    workspace = edits.server.client_capabilities.workspace
    annotated = bool(workspace and workspace.workspace_edit and workspace.workspace_edit.change_annotation_support)
    changes, annotations = [], {}
    for uri, places in found.items():
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, places[0].version)
        texts: list = [types.TextEdit(spot.range, spot.new) for spot in places]
        if annotated:
            name = unquote(uri).rpartition("/")[2]
            annotations[uri] = types.ChangeAnnotation(f"Carry this edit on in {name}")
            texts = [types.AnnotatedTextEdit(uri, each.range, each.new_text) for each in texts]
        changes.append(types.TextDocumentEdit(identifier, texts))
    return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations or None)


async def _asked(edits: Edits, uri: str) -> list[Offer]:
    async def ask() -> list[Offer]:
        async with aclosing(edits.ask(uri)) as offers:
            return [offer async for offer in offers]

    return await edits.server.latest.run(key(uri), ask())
