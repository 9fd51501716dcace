"""The code action and the command that apply the last edit to all sites that are certain to follow it."""

import asyncio
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.edits.carry import Offer
from dlsp.errors import UserError
from dlsp.server.features.next_edit.edits import NextEdits
from dlsp.server.features.next_edit.locations import Location, Locations, read_files
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Superseded, refusing

COMMAND = "dlsp.carryEdit"
TITLE = "Carry this edit on"
KIND = types.CodeActionKind.RefactorRewrite
# Seconds that the code action menu waits for sites; after that, choosing the action searches for them.
MENU_WAIT_S = 1.0


class CarryOn:
    """Offers the code action, resolves it, and runs the command."""

    def __init__(self, session: Session, edits: NextEdits) -> None:
        self._session, self._edits = session, edits

    def register(self, server: Server) -> None:
        """Register the command."""

        @server.command(COMMAND)
        async def command(uri: str) -> None:
            with refusing():
                edit = await self._workspace_edit(await self._edits.offers(uri))
            if edit is None:
                raise JsonRpcException("No place follows this edit for certain.", types.LSPErrorCodes.RequestFailed)
            await self._session.client.apply_edit(edit, TITLE)

    async def code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """The action "Carry this edit on (N places)", or one that searches for the sites when it is chosen.

        The latter is offered if the search takes longer than MENU_WAIT_S. If the editor requests actions automatically,
        only sites already found are used.
        """
        uri, automatic = params.text_document.uri, types.CodeActionTriggerKind.Automatic
        offers = self._edits.carry(uri).known()
        if offers is None and params.context.trigger_kind != automatic and await self._edits.last(uri):
            try:
                async with asyncio.timeout(MENU_WAIT_S):
                    offers = await self._edits.offers(uri)
            except TimeoutError:
                return [self._unresolved(uri)]
            except (Superseded, UserError):
                return []
        edit = await self._workspace_edit(offers or [])
        if edit is None:
            return []
        documents = [each for each in edit.document_changes or () if isinstance(each, types.TextDocumentEdit)]
        count = sum(len(each.edits) for each in documents)
        return [types.CodeAction(f"{TITLE} ({count} place{'' if count == 1 else 's'})", kind=KIND, edit=edit)]

    def _unresolved(self, uri: str) -> types.CodeAction:
        """The action without an edit: its command searches for the sites."""
        return types.CodeAction(TITLE, kind=KIND, command=types.Command(TITLE, COMMAND, arguments=[uri]))

    async def _workspace_edit(self, offers: list[Offer]) -> types.WorkspaceEdit | None:
        """One edit of all documents for the certain offers, versioned; None if there are none.

        Its changes are annotated if the client supports that.
        """
        closed = {offer.uri for offer in offers if self._session.document(offer.uri) is None}
        files = await self._session.worker(read_files, closed) if closed else {}
        locations = Locations(self._session, files)
        found: dict[str, list[Location]] = {}
        for offer in offers:
            if offer.certain and (location := locations.locate(offer)):
                found.setdefault(location.uri, []).append(location)
        if not found:
            return None
        workspace = self._session.client.capabilities.workspace
        annotated = bool(workspace and workspace.workspace_edit and workspace.workspace_edit.change_annotation_support)
        changes: list[types.TextDocumentEdit] = []
        annotations: dict[str, types.ChangeAnnotation] = {}
        for uri, places in found.items():
            identifier = types.OptionalVersionedTextDocumentIdentifier(uri, places[0].version)
            texts: list[Any] = [types.TextEdit(each.range, each.new) for each in places]
            if annotated:
                name = unquote(uri).rpartition("/")[2]
                annotations[uri] = types.ChangeAnnotation(f"{TITLE} in {name}")
                texts = [types.AnnotatedTextEdit(uri, each.range, each.new_text) for each in texts]
            changes.append(types.TextDocumentEdit(identifier, texts))
        return types.WorkspaceEdit(document_changes=changes, change_annotations=annotations or None)
