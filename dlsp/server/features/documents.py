"""Notifications about documents, notebooks, folders and settings."""

from collections.abc import Sequence

from lsprotocol import types

from dlsp.completions.service import CompletionService
from dlsp.completions.types import Cursor, DocumentChange, Position
from dlsp.server.features.fill import Fills
from dlsp.server.features.next_edit.edits import NextEdits
from dlsp.server.features.other_servers import OtherServers
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks


def register(
    server: Server,
    session: Session,
    service: CompletionService,
    edits: NextEdits,
    fills: Fills,
    others: OtherServers,
    tasks: Tasks,
) -> None:
    """Register the notifications, which keep the session and the services up to date."""

    def changed(uri: str, changes: Sequence[types.TextDocumentContentChangeEvent]) -> None:
        snapshot = session.snapshot(uri)
        if snapshot is None or not changes:
            return
        tasks.cancel("instruct", uri)
        tasks.cancel("edits", uri)
        fills.changed(uri, changes)
        last = changes[-1]
        row = last.range.start.line if isinstance(last, types.TextDocumentContentChangePartial) else None
        change = _change(changes, session)
        cursor = session.cursor(uri, types.Position(*change.cursors[-1])) if change else None
        if isinstance(cursor, Cursor):
            others.look(cursor)
        service.changed(snapshot, cursor if isinstance(cursor, Cursor) else None, change)
        if row is not None:
            session.visited(uri, row, edited=True)

    def closed(uri: str) -> None:
        tasks.cancel_document(uri)
        edits.closed(uri)
        others.closed(uri)
        service.reset(uri)
        session.forget(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        service.reset(params.text_document.uri)
        edits.opened(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def text_changed(params: types.DidChangeTextDocumentParams) -> None:
        edits.changed(params.text_document.uri)
        changed(params.text_document.uri, params.content_changes)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def text_closed(params: types.DidCloseTextDocumentParams) -> None:
        closed(params.text_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: types.DidChangeNotebookDocumentParams) -> None:
        cells = params.change.cells
        for text in (cells and cells.text_content) or ():
            changed(text.document.uri, text.changes)
        structure = cells and cells.structure
        for cell in (structure and structure.did_close) or ():
            closed(cell.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: types.DidCloseNotebookDocumentParams) -> None:
        for cell in params.cell_text_documents:
            closed(cell.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        session.leave_folders()
        for document in session.documents():
            service.reset(document.uri)
        edits.regroup()
        await session.pull_settings()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def settings_changed(params: types.DidChangeConfigurationParams) -> None:
        session.settings.set_pushed(params.settings)
        await session.pull_settings()


def _change(changes: Sequence[types.TextDocumentContentChangeEvent], session: Session) -> DocumentChange | None:
    """The change, if there is exactly one and it has a range; else None."""
    if len(changes) != 1 or not isinstance(changes[0], types.TextDocumentContentChangePartial):
        return None
    start, end = (Position(each.line, each.character) for each in (changes[0].range.start, changes[0].range.end))
    return DocumentChange(start, end, changes[0].text, session.units)
