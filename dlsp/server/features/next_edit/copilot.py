"""Next edits with the requests of Copilot's language server."""

from collections import Counter
from typing import Any

from dlsp.errors import UserError
from dlsp.server import params as read
from dlsp.server.features.next_edit.edits import NextEdits
from dlsp.server.features.next_edit.locations import Location, Locations
from dlsp.server.features.positions import as_json
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Superseded

METHOD = "textDocument/copilotInlineEdit"
ACCEPTED = "dlsp.didAcceptEdit"


def register(server: Server, session: Session, edits: NextEdits) -> None:
    """Register the request, its notifications, and the command that a client runs after an edit was accepted."""
    counts: Counter[str] = Counter()

    @server.feature(METHOD)
    async def request(params: Any) -> dict[str, Any]:
        return {"edits": await _next_edits(session, edits, read.read(read.Edits, params).text_document)}

    @server.feature("textDocument/didShowInlineEdit")
    def shown(params: Any) -> None:
        counts["shown"] += 1

    @server.feature("textDocument/didFocus")
    def focused(params: Any) -> None:
        edits.opened(read.read(read.Focus, params).text_document.uri)

    @server.command(ACCEPTED)
    def accepted(id: str) -> None:
        counts["accepted"] += 1


async def _next_edits(session: Session, edits: NextEdits, asked: read.Document) -> list[dict[str, Any]]:
    """The edits in open documents, those of the requested one first; none unless the requested version is current."""
    document = session.document(asked.uri)
    if document is None or asked.version != document.version:
        return []
    try:
        with session.client.status.busy():
            offers = await edits.offers(asked.uri)
    except Superseded:
        return []
    except UserError as error:
        session.client.log(f"no edits: {error}")
        return []
    locations = Locations(session)
    found = [(offer.id, place) for offer in offers if (place := locations.locate(offer)) and place.version is not None]
    found.sort(key=lambda each: (each[1].uri != document.uri, each[1].uri, each[1].range.start.line))
    return [_edit(id, location) for id, location in found]


def _edit(id: str, location: Location) -> dict[str, Any]:
    return {
        "text": location.new,
        "textDocument": {"uri": location.uri, "version": location.version},
        "range": as_json(location.range),
        "command": {"title": "Accept", "command": ACCEPTED, "arguments": [id]},
    }
