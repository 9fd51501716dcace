"""Next edits as clients ask Copilot's server for them; what they ask for else is in docs/server-protocol.md."""

from contextlib import aclosing
from typing import Any

from dlsp.errors import UserError
from dlsp.server.edits import Edits, key
from dlsp.server.latest import Stale
from dlsp.server.spots import Spot, Spots, plain

METHOD = "textDocument/copilotInlineEdit"
ACCEPTED = "dlsp.didAcceptEdit"


def add(edits: Edits) -> None:
    """Give the server the request, its notifications and the command that a client runs after an edit was accepted."""
    server = edits.server

    @server.feature(METHOD)
    async def request(params: Any) -> dict[str, Any]:
        return {"edits": await next_edits(edits, params)}

    @server.feature("textDocument/didShowInlineEdit")
    def shown(params: Any) -> None:
        edits.counts["shown"] += 1

    @server.feature("textDocument/didFocus")
    def focused(params: Any) -> None:
        edits.opened(params.textDocument.uri)

    @server.command(ACCEPTED)
    def accepted(id: str) -> None:
        edits.counts["accepted"] += 1


async def next_edits(edits: Edits, params: Any) -> list[dict[str, Any]]:
    """Those in open documents, first in the one asked for; none for a version that is not the present one."""
    uri, version = params.textDocument.uri, getattr(params.textDocument, "version", None)
    document = edits.server.document(uri)
    if document is None or version != document.version:
        return []
    try:
        with edits.server.status:
            found = await edits.server.latest.run(key(uri), _spots(edits, uri))
    except Stale:
        return []
    except UserError as error:
        edits.server.note(f"no edits: {error}")
        return []
    found.sort(key=lambda each: (each[1].uri != document.uri, each[1].uri, each[1].range.start.line))
    return [_edit(id, spot) for id, spot in found if spot.version is not None]


async def _spots(edits: Edits, uri: str) -> list[tuple[str, Spot]]:
    spots, found = Spots(edits.server), []
    async with aclosing(edits.ask(uri)) as offers:
        async for offer in offers:
            if spot := spots.spot(offer):
                found.append((offer.id, spot))
    return found


def _edit(id: str, spot: Spot) -> dict[str, Any]:
    return {
        "text": spot.new,
        "textDocument": {"uri": spot.uri, "version": spot.version},
        "range": plain(spot.range),
        "command": {"title": "Accept", "command": ACCEPTED, "arguments": [id]},
    }
