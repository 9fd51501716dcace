"""Code actions: everything that the server offers at a place, in one answer."""

from lsprotocol import types

from dlsp.server import carry, fill
from dlsp.server.edits import Edits


def add(edits: Edits) -> None:
    """Give the server the request."""
    server = edits.server
    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.RefactorRewrite])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        return [*fill.code_actions(server, params), *await carry.code_actions(edits, params)]
