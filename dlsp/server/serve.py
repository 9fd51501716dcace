"""Wire the server and run it on standard input and output."""

import logging

from lsprotocol import types

from dlsp.server.inline import inline_completion
from dlsp.server.server import Server


def build() -> Server:
    """A server with its features, not yet running."""
    server = Server()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.configure(params)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        server.link.make()

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        return await inline_completion(server, params)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.latest.drop(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.latest.drop(params.text_document.uri)
        server.anchors.pop(params.text_document.uri, None)

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await server.link.close()

    return server


def serve() -> None:
    """Serve one editor until it says exit or closes the pipe."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("pygls").setLevel(logging.WARNING)  # at INFO it logs whole documents
    build().start_io()
