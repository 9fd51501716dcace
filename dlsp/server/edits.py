"""`dlsp/edits`: the places that the last edit should be carried on to. The interface is in docs/server-protocol.md."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import from_fs_path

from dlsp.edits.carry import Carry, Offer
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.rank.proposals import proposals as propose
from dlsp.edits.search.files import others
from dlsp.edits.search.page import Page
from dlsp.engine.client import EngineGone
from dlsp.errors import UserError
from dlsp.server.refusals import refusing
from dlsp.server.server import Server, document_path
from dlsp.server.spots import Spots
from dlsp.syntax import languages

METHOD = "dlsp/edits"
EDITS_S = 60
MOST_CHARACTERS = 400_000
"""Longer documents have no history."""
NO_EDIT = "nothing was edited yet"
NO_SITES = "the edit seems to end where it is"


class Edits:
    """The histories of a server's workspaces, and what was found for their last edits."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.counts: Counter[str] = Counter()
        self._carries: dict[Path | None, Carry] = {}
        self._opened: dict[str, str] = {}  # by pygls' key, the URI that the editor opened a document under

    def carry(self, uri: str) -> Carry:
        """That of the document's folder."""
        return self._carries.setdefault(self.server.folder(uri), Carry())

    def carries(self) -> list[Carry]:
        return list(self._carries.values())

    def opened(self, uri: str) -> None:
        """A document was opened. Whether it may be read is asked when something is to be done with its history, as that
        reads files of the workspace."""
        document = self.server.document(uri)
        if document and len(document.source) <= MOST_CHARACTERS:
            self._opened[unquote(uri)] = document.uri
            self.carry(uri).history.opened(document.uri, document.source)

    def sort_anew(self) -> None:
        """The workspace has other folders: histories go with theirs, and open documents are in those of now."""
        here = self.server.folders()
        self._carries = {folder: carry for folder, carry in self._carries.items() if folder in here}
        for document in self.server.workspace.text_documents.values():
            for carry in self.carries():
                if carry is not self.carry(document.uri):
                    carry.history.closed(document.uri)
            self.opened(document.uri)

    def changed(self, uri: str) -> None:
        self.server.latest.drop(key(uri))
        document = self.server.document(uri)
        if document:
            self.carry(uri).changed(document.uri, document.source)

    def closed(self, uri: str) -> None:
        self.server.latest.drop(key(uri))
        self.carry(uri).history.closed(self._opened.pop(unquote(uri), uri))

    async def ask(self, uri: str) -> AsyncGenerator[Offer]:
        """The offers for the last edit of the document's workspace as they become known. Raises UserError."""
        carry, last = self.carry(uri), self.last(uri)
        if last is None:
            return
        edit, own = last

        async def pages(edit: Edit) -> Sequence[Page]:
            return [own, *self._open_pages(uri, own), *await self._files(uri, edit, own)]

        async def proposals(edit: Edit, own: Page, pages: Sequence[Page]) -> AsyncGenerator[Proposal]:
            link = self.server.link(uri)
            link.make()
            engine = link.engine
            try:
                async with aclosing(propose(engine, edit, own, pages)) as found:
                    async for proposal in found:
                        yield proposal
            except EngineGone as error:
                if engine:
                    link.lost(engine, error)
                raise

        async with aclosing(carry.ask(proposals, own, edit, pages)) as offers:
            async for offer in offers:
                yield offer

    def last(self, uri: str) -> tuple[Edit, Page] | None:
        """The last edit of the document's workspace and the page it was made on."""
        history = self.carry(uri).history
        step = history.last
        text = history.text(step.uri) if step else None
        if step is None or text is None or not self._may_read(step.uri):
            return None
        path = document_path(step.uri)
        edit = history.edit(step, self.server.surroundings(step.uri).name(path))
        if edit is None:
            return None
        # What was carried on since has moved the rows of the edit.
        edited = moved(edit.ranges(), Edit.between("", step.after, text))
        return edit, Page(step.uri, edit.path, text, languages.of(path), tuple(edited))

    def _open_pages(self, uri: str, own: Page) -> list[Page]:
        folder = self.server.folder(uri)
        found = []
        for other in (document.uri for document in self.server.workspace.text_documents.values()):
            text = self.carry(uri).history.text(other)
            if other != own.uri and text is not None and self.server.folder(other) == folder and self._may_read(other):
                path = document_path(other)
                found.append(Page(other, self.server.surroundings(uri).name(path), text, languages.of(path)))
        return found

    async def _files(self, uri: str, edit: Edit, own: Page) -> list[Page]:
        workspace = self.server.surroundings(uri)
        documents = self.server.workspace.text_documents.values()
        opened = {os.path.realpath(document_path(each.uri)) for each in documents}
        found = await asyncio.to_thread(others, workspace, edit, own)
        return [
            Page(from_fs_path(str(path)) or "", workspace.name(path), text, languages.of(path))
            for path, text in found
            if os.path.realpath(path) not in opened
        ]

    def _may_read(self, uri: str) -> bool:
        return not self.server.surroundings(uri).excludes(document_path(uri))


def moved(ranges: Sequence[tuple[int, int]], change: Edit) -> list[tuple[int, int]]:
    """Where ranges of rows are after a change that does not touch them."""
    found = []
    for first, last in ranges:
        shift = sum(len(each.lines) - (each.end - each.start) for each in change.hunks if each.end <= first)
        found.append((first + shift, last + shift))
    return found


def add(server: Server) -> Edits:
    """Give the server the request and the notification, and the history that both are about."""
    edits = Edits(server)

    @server.feature(METHOD)
    async def request(params: Any) -> dict[str, Any]:
        return await answer(edits, params)

    @server.feature("dlsp/didDismissEdits")
    def dismissed(params: Any) -> None:
        ids = getattr(params, "ids", None)
        for carry in edits.carries():
            carry.dismiss(None if ids is None else set(map(str, ids)))

    return edits


async def answer(edits: Edits, params: Any) -> dict[str, Any]:
    """The result of `dlsp/edits`. Raises JsonRpcException with one sentence for the user."""
    uri, token = params.textDocument.uri, getattr(params, "partialResultToken", None)
    with refusing():
        async with asyncio.timeout(EDITS_S):
            with edits.server.status:
                return await edits.server.latest.run(key(uri), _answer(edits, uri, token))


async def _answer(edits: Edits, uri: str, token: Any) -> dict[str, Any]:
    document = edits.server.document(uri)
    if document is None:
        raise UserError("The document is not open.")
    spots, found = Spots(edits.server), []
    async with aclosing(edits.ask(uri)) as offers:
        async for offer in offers:
            site = spots.site(offer)
            if site is None:
                continue
            found.append(site)
            if token is not None:
                edits.server.progress(types.ProgressParams(token, {"sites": [site]}))
    last = edits.last(uri)
    found.sort(
        key=lambda site: (site["textDocument"]["uri"] != document.uri, site["textDocument"]["uri"], _place(site))
    )
    quiet = None if found else NO_SITES if last else NO_EDIT
    return {"edit": spots.edit(*last) if last else None, "sites": found, "quiet": quiet}


def _place(site: dict[str, Any]) -> tuple[int, int]:
    return site["range"]["start"]["line"], site["range"]["start"]["character"]


def key(uri: str) -> str:
    """Under which the newest request for the edits of a document runs."""
    return f"edits {unquote(uri)}"
