"""`textDocument/inlineCompletion`: ghost text."""

from dataclasses import dataclass

from lsprotocol import types

from dlsp.completions.service import CompletionService
from dlsp.completions.types import Cursor, Position
from dlsp.server.features.other_servers import OtherServers
from dlsp.server.protocol import Server
from dlsp.server.session import Session

ACCEPTED = "dlsp.didAcceptCompletion"


@dataclass(frozen=True)
class Suggestion:
    """What is inserted at a cursor, how many characters behind the cursor it replaces, and its id, by which its outcome
    is reported.
    """

    id: str
    text: str
    cursor: Cursor
    replaced: int


class InlineCompletions:
    """Answers the request, and asks for suggestions as it does for others."""

    def __init__(self, session: Session, service: CompletionService, others: OtherServers) -> None:
        self._session, self._service, self._others = session, service, others

    def register(self, server: Server, announced: bool, with_command: bool) -> None:
        """Register the request; unless `announced`, the server's capabilities do not include it. `with_command`: the
        client reports by an item's command that it was accepted, as Copilot's do."""
        options = types.InlineCompletionOptions() if announced else None

        @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, options)
        async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
            invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
            found = await self.suggestion(params.text_document.uri, params.position, invoked)
            return types.InlineCompletionList([offered(found, with_command)] if found else [])

    async def suggestion(self, uri: str, position: types.Position, invoked: bool) -> Suggestion | None:
        """The suggestion at a position of an open document, None if there is none."""
        session = self._session
        with session.client.status.busy():
            cursor = await session.cursor_for_request(uri, position)
            if not isinstance(cursor, Cursor):
                self._service.skip(uri, Position(position.line, position.character), cursor, invoked=invoked)
                return None
            session.visited(uri, cursor.position.line, edited=False)
            self._others.look(cursor)
            result = await self._service.complete(cursor, invoked=invoked)
        return Suggestion(result.id, result.text, cursor, result.replaced) if result.text else None


def offered(found: Suggestion, with_command: bool = False) -> types.InlineCompletionItem:
    """The item of a suggestion. Its command tells the server that the item was accepted."""
    command = types.Command("Accept", ACCEPTED, arguments=[found.id]) if with_command else None
    return item(found.text, types.Position(*found.cursor.position), found.replaced, command)


def item(
    text: str, position: types.Position, replaced: int = 0, command: types.Command | None = None
) -> types.InlineCompletionItem:
    """An item that puts a text in place of so many characters behind the cursor. Without a range, VS Code would replace
    the rest of the line.
    """
    # They are brackets and quotes, which are one unit each in every encoding.
    end = types.Position(position.line, position.character + replaced)
    return types.InlineCompletionItem(text, range=types.Range(position, end), command=command)
