"""`textDocument/inlineCompletion`: ghost text."""

from lsprotocol import types

from dlsp.server.question import Question, answered
from dlsp.server.server import Server


def add(server: Server, offered: bool) -> None:
    """Give the server the request; not `offered`, it is answered all the same, to who asks without having said so."""
    options = types.InlineCompletionOptions() if offered else None  # without any, pygls says nothing of it

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, options)
    async def completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        return await inline_completion(server, params)


async def inline_completion(server: Server, params: types.InlineCompletionParams) -> types.InlineCompletionList:
    """One item, or none."""
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    made = await answered(server, Question(params.text_document.uri, params.position, invoked))
    return types.InlineCompletionList([made.item] if made.item else [])
