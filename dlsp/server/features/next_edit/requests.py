"""`dlsp/edits`: the sites where the last edit should also happen."""

import asyncio
from contextlib import aclosing
from typing import Any

from dlsp.errors import UserError
from dlsp.server import params as read
from dlsp.server.features.next_edit.edits import FEATURE, NextEdits
from dlsp.server.features.next_edit.locations import Locations, read_files
from dlsp.server.protocol import Server
from dlsp.server.session import Session
from dlsp.server.tasks import Tasks, refusing

METHOD = "dlsp/edits"
TIMEOUT_S = 60
NO_EDIT = "nothing was edited yet"
NO_SITES = "the edit seems to end where it is"


def register(server: Server, session: Session, edits: NextEdits, tasks: Tasks) -> None:
    """Register the request and the notification."""

    @server.feature(METHOD)
    async def request(params: Any) -> dict[str, Any]:
        return await answer(session, edits, tasks, read.read(read.Edits, params))

    @server.feature("dlsp/didDismissEdits")
    def dismissed(params: Any) -> None:
        ids = read.read(read.DismissedEdits, params).ids
        edits.dismissed(None if ids is None else set(ids))


async def answer(session: Session, edits: NextEdits, tasks: Tasks, params: read.Edits) -> dict[str, Any]:
    """The result of `dlsp/edits`. Raises JsonRpcException with a message for the user."""
    with refusing(), session.client.status.busy():
        async with asyncio.timeout(TIMEOUT_S):
            return await tasks.run(FEATURE, params.text_document.uri, _answer(session, edits, params))


async def _answer(session: Session, edits: NextEdits, params: read.Edits) -> dict[str, Any]:
    uri = params.text_document.uri
    document = session.document(uri)
    if document is None:
        raise UserError("The document is not open.")
    locations = Locations(session)
    found: list[dict[str, Any]] = []
    async with aclosing(edits.ask(uri)) as offers:
        async for offer in offers:
            if session.document(offer.uri) is None:
                locations.add(await session.worker(read_files, {offer.uri}))
            site = locations.site(offer)
            if site is None:
                continue
            found.append(site)
            session.client.partial_result(params.partial_result_token, {"sites": [site]})
    last = await edits.last(uri)
    own = document.uri
    found.sort(key=lambda site: (site["textDocument"]["uri"] != own, site["textDocument"]["uri"], _start(site)))
    quiet = None if found else NO_SITES if last else NO_EDIT
    return {"edit": locations.edit(*last) if last else None, "sites": found, "quiet": quiet}


def _start(site: dict[str, Any]) -> tuple[int, int]:
    return site["range"]["start"]["line"], site["range"]["start"]["character"]
