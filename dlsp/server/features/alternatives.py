"""`dlsp/alternatives`: other suggestions for a position than the one that is shown.

Params: `{textDocument, position}`. The result is an `InlineCompletionList`, empty if there is no other; an error gives
the reason.
"""

import asyncio
from typing import Any

from lsprotocol import types

from dlsp.completions.service import CompletionService
from dlsp.completions.types import Cursor
from dlsp.errors import UserError
from dlsp.server import params as read
from dlsp.server.features.inline_completion import item
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks, refusing

METHOD = "dlsp/alternatives"
FEATURE = "alternatives"
TIMEOUT_S = 10


def register(server: Server, session: Session, service: CompletionService, tasks: Tasks) -> None:
    """Register the request."""

    @server.feature(METHOD)
    async def alternatives(params: Any) -> types.InlineCompletionList:
        asked = read.read(read.Place, params)
        with refusing(), session.client.status.busy():
            async with asyncio.timeout(TIMEOUT_S):
                return await tasks.run(FEATURE, asked.text_document.uri, found(session, service, asked))


async def found(session: Session, service: CompletionService, place: read.Place) -> types.InlineCompletionList:
    """The other suggestions. Raises UserError."""
    position = place.position.lsp()
    cursor = await session.cursor_for_request(place.text_document.uri, position)
    if not isinstance(cursor, Cursor):
        raise UserError(f"There are no other suggestions here: {cursor.value}.")
    texts = await service.alternatives(cursor)
    here = types.Position(*cursor.position)
    return types.InlineCompletionList([item(each.text, here, each.replaced) for each in texts])
