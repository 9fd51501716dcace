"""Wire the server, and run it for one editor on standard input and output."""

import asyncio
import gc
import logging
import sys
from contextlib import suppress
from threading import Event
from typing import Any

from lsprotocol import types
from pygls.io_ import StdoutWriter, run_async

from dlsp import logfile
from dlsp.server import actions, ahead, carry, copilot, fill, inline, menu, pipe, rewrite
from dlsp.server.edits import add as add_edits
from dlsp.server.server import Server

SNOOZE, SNOOZE_MINUTES = "dlsp.snooze", 10


def build() -> Server:
    """A server with its features, not yet running."""
    server = Server()
    edits = add_edits(server)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params)
        inline.add(server, offered=server.ghosts)
        if not server.ghosts:  # else an editor might show everything twice
            menu.add(server)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await server.pull_settings()
        if server.settings().suggests("") != "off":
            server.link().make()
        await server.register()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        server.configuration.push(params.settings)
        await server.pull_settings()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.leave_folders()
        edits.sort_anew()
        for document in server.workspace.text_documents.values():
            server.begin_anew(document.uri)
        await server.pull_settings()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        edits.opened(params.text_document.uri)
        server.begin_anew(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        if server.document(params.text_document.uri) is None:
            return
        edits.changed(params.text_document.uri)
        server.latest.drop(params.text_document.uri)
        ahead.changed(server, params.text_document.uri, params.content_changes)
        for change in params.content_changes[-1:]:
            if isinstance(change, types.TextDocumentContentChangePartial):
                server.notice(params.text_document.uri, change.range.start.line, edited=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        edits.closed(params.text_document.uri)
        server.forget(params.text_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: types.DidChangeNotebookDocumentParams) -> None:
        cells = params.change.cells
        for text in (cells and cells.text_content) or ():
            server.latest.drop(text.document.uri)
            ahead.changed(server, text.document.uri, text.changes)
        structure = cells and cells.structure
        for cell in (structure and structure.did_close) or ():
            server.forget(cell.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: types.DidCloseNotebookDocumentParams) -> None:
        for cell in params.cell_text_documents:
            server.forget(cell.uri)

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await server.close()

    @server.command(SNOOZE)
    def snooze(minutes: float = SNOOZE_MINUTES) -> None:
        server.snooze(minutes)

    server.feedback.add()
    fill.add(server)
    copilot.add(edits)
    carry.add(edits)
    actions.add(edits)
    rewrite.add(edits)
    return server


def serve() -> int:
    """Serve one editor until it says exit or closes the pipe. The process's exit status: 1 for an exit without a
    shutdown before."""
    _begin()
    with suppress(KeyboardInterrupt):
        return asyncio.run(_serve())
    return 0


async def _serve() -> int:
    """What `serve` does once there is an event loop."""
    reader: Any = pipe.reader(sys.stdin.buffer)
    server = build()
    server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
    try:
        await run_async(Event(), reader, server.protocol, error_handler=server.report_server_error)
    except SystemExit as said:  # `exit`
        return int(said.code or 0)
    except (OSError, asyncio.IncompleteReadError, ValueError):
        pass  # the connection broke
    finally:
        await server.close()
    return 0


def _begin() -> None:
    gc.freeze()  # what was imported stays: no collection needs to look at it
    logging.basicConfig(level=logging.WARNING)
    logging.raiseExceptions = False
    logfile.begin()
