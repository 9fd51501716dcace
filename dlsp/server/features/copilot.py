"""The methods of Copilot's language server that its clients call besides LSP's: who is signed in, older requests for
suggestions, and panels. There is no account here: the answer is always that the user is signed in.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from lsprotocol import types

from dlsp import __version__
from dlsp.completions.types import Cursor
from dlsp.server import params as read
from dlsp.server.features.feedback import Outcomes
from dlsp.server.features.inline_completion import Suggestion, offered
from dlsp.server.protocol import Server
from dlsp.server.session import Session

USER = "dlsp"  # clients show nothing unless somebody is signed in
SIGNED_IN = {"status": "OK", "user": USER}
ALREADY = {"status": "AlreadySignedIn", "user": USER}
# Requests with one answer for everybody.
FIXED: dict[str, Any] = {
    "checkStatus": SIGNED_IN,
    "signIn": ALREADY,
    "signInInitiate": ALREADY,
    "signInConfirm": SIGNED_IN,
    "signOut": {"status": "NotSignedIn"},
    "getVersion": {"version": __version__, "buildType": "prod", "runtimeVersion": "dlsp"},
    "setEditorInfo": "OK",
    "copilot/models": [],
}
Suggest = Callable[[str, types.Position, bool], Awaitable[Suggestion | None]]


def register(server: Server, session: Session, suggest: Suggest, outcomes: Outcomes) -> None:
    """Register the methods. `suggest` asks for a suggestion, as `textDocument/inlineCompletion` does."""

    def fixed(method: str, answer: Any) -> None:
        @server.feature(method)
        def answered(params: Any) -> Any:
            return answer

    for method, answer in FIXED.items():
        fixed(method, answer)

    async def completions(params: Any, invoked: bool) -> dict[str, Any]:
        asked = read.read(read.OldCompletions, params).doc
        found = await suggest(asked.uri, asked.position.lsp(), invoked) if _current(asked) else None
        return {"completions": [_old_item(session, found)] if found else []}

    def _current(asked: read.OldDocument) -> bool:
        document = session.document(asked.uri)
        return document is not None and asked.version in (None, document.version)

    @server.feature("getCompletions")
    async def typed(params: Any) -> dict[str, Any]:
        return await completions(params, invoked=False)

    @server.feature("getCompletionsCycling")
    async def cycled(params: Any) -> dict[str, Any]:
        return await completions(params, invoked=True)

    @server.feature("getPanelCompletions")
    async def panel(params: Any) -> dict[str, Any]:
        """The suggestion as a notification, then one that there are no more."""
        shown = read.read(read.Panel, params).panel_id
        found = (await completions(params, invoked=True))["completions"]
        for each in found:
            solution = {"panelId": shown, "completionText": each["displayText"], "score": 1, "solutionId": each["uuid"]}
            session.client.notify("PanelSolution", each | solution)
        session.client.notify("PanelSolutionsDone", {"panelId": shown, "status": "OK"})
        return {"solutionCountTarget": len(found)}

    @server.feature("textDocument/copilotPanelCompletion")
    async def panel_completion(params: Any) -> types.InlineCompletionList:
        asked = read.read(read.Placed, params)
        found = await suggest(asked.text_document.uri, asked.position.lsp(), True)
        return types.InlineCompletionList([offered(found, with_command=True)] if found else [])

    @server.feature("notifyShown")
    def shown(params: Any) -> str:
        outcomes.shown(read.read(read.OldFeedback, params).uuid)
        return "OK"

    @server.feature("notifyAccepted")
    def accepted(params: Any) -> str:
        told = read.read(read.OldFeedback, params)
        outcomes.accepted(told.uuid, told.accepted_length)
        return "OK"

    @server.feature("notifyRejected")
    def rejected(params: Any) -> str:
        for each in read.read(read.OldRejected, params).uuids:
            outcomes.dismissed(each)
        return "OK"


def _old_item(session: Session, found: Suggestion) -> dict[str, Any]:
    """A suggestion as `getCompletions` answers: `text` replaces the line up to the cursor, and what the suggestion
    replaces behind it."""
    cursor: Cursor = found.cursor
    line, character = cursor.position
    start = cursor.before[cursor.before.rfind("\n") + 1 :]
    here, end = ({"line": line, "character": each} for each in (character, character + found.replaced))
    return {
        "uuid": found.id,
        "text": start + found.text,
        "displayText": found.text,
        "range": {"start": {"line": line, "character": 0}, "end": end},
        "position": here,
        "docVersion": cursor.version,
    }
