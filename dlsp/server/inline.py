"""`textDocument/inlineCompletion`: ghost text."""

from lsprotocol import types

from dlsp.server.question import Question, answered
from dlsp.server.server import Server


def add(server: Server) -> None:
    """Give the server the request."""

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        return await inline_completion(server, params)


async def inline_completion(server: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList:
    """One item, or none."""
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    made = await answered(server, Question(params.text_document.uri, params.position, invoked))
    return types.InlineCompletionList([made.item] if made.item else [])
