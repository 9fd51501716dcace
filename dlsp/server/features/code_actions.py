"""`textDocument/codeAction`: all code actions of the server at a position or selection."""

from typing import Any, cast

from lsprotocol import types

from dlsp.completions.service import CompletionService
from dlsp.completions.types import Cursor
from dlsp.server.features.fill import Fills
from dlsp.server.features.next_edit.apply import CarryOn
from dlsp.server.protocol import Server
from dlsp.server.session import Session

KIND = types.CodeActionKind.RefactorRewrite


def register(server: Server, session: Session, service: CompletionService, fills: Fills, carry_on: CarryOn) -> None:
    """Register the request."""

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[KIND]))
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, span = params.text_document.uri, params.range
        if span.start == span.end:  # editors request code actions when the cursor rests
            cursor = session.cursor(uri, span.start)
            if isinstance(cursor, Cursor):
                service.rested(cursor)
        if not is_wanted(KIND, params.context.only):
            return []
        return [*fills.code_actions(uri, span), *await carry_on.code_actions(params)]


def is_wanted(kind: types.CodeActionKind, only: object) -> bool:
    """Whether a client that requests `only` these kinds (a list, or None for all) wants this one.

    Kinds are hierarchical, separated by dots: a kind includes those it is a prefix of.
    """
    kinds = cast("list[Any] | tuple[Any, ...]", only) if isinstance(only, list | tuple) else ()
    wanted = [str(getattr(each, "value", each)) for each in kinds]
    return not wanted or any(kind.value == each or kind.value.startswith(f"{each}.") or not each for each in wanted)
