"""`textDocument/inlineCompletion`: ghost text."""

from lsprotocol import types

from dlsp.completions.service import CompletionService
from dlsp.completions.types import Cursor, Position
from dlsp.server.protocol import Server
from dlsp.server.session import Session


def register(server: Server, session: Session, service: CompletionService, announced: bool) -> None:
    """Register the request; unless `announced`, the server's capabilities do not include it."""
    options = types.InlineCompletionOptions() if announced else None

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, options)
    async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
        uri, invoked = (
            params.text_document.uri,
            params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked,
        )
        with session.client.status.busy():
            cursor = await session.cursor_for_request(uri, params.position)
            if not isinstance(cursor, Cursor):
                place = Position(params.position.line, params.position.character)
                service.skip(uri, place, cursor, invoked=invoked)
                return types.InlineCompletionList([])
            session.visited(uri, cursor.position.line, edited=False)
            result = await service.complete(cursor, invoked=invoked)
        items = [item(result.text, types.Position(*cursor.position))] if result.text else []
        return types.InlineCompletionList(items)


def item(text: str, position: types.Position) -> types.InlineCompletionItem:
    """An item that inserts `text` at `position`. Without a range, VS Code would replace the rest of the line."""
    return types.InlineCompletionItem(text, range=types.Range(position, position))
