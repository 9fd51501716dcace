"""Code actions: everything that the server offers at a place, in one answer."""

from lsprotocol import types

from dlsp.server import ahead, carry, fill
from dlsp.server.edits import Edits


def add(edits: Edits) -> None:
    """Give the server the request."""
    server = edits.server
    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.RefactorRewrite])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        if params.range.start == params.range.end:  # editors ask when the cursor comes to rest
            ahead.rests(server, params.text_document.uri, params.range.start)
        return [*fill.code_actions(server, params), *await carry.code_actions(edits, params)]
