"""The edit histories of the workspace's folders, and the sites found for their last edits."""

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from urllib.parse import unquote

from pygls.uris import from_fs_path

from dlsp.completions.generation import connection_for
from dlsp.completions.types import Snapshot
from dlsp.edits.carry import Carry, Offer
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.rewrite.formats import MAX_PAST
from dlsp.edits.rewrite.written import next_edits
from dlsp.edits.search.files import others
from dlsp.edits.search.page import Page
from dlsp.engine.connection import EnginePool
from dlsp.server.features.next_edit.doubts import settle_doubts
from dlsp.server.features.next_edit.reported import reported
from dlsp.server.session import Session, document_path
from dlsp.server.tasks import Tasks
from dlsp.syntax import languages

# The task name of all next-edit requests of a document: a newer one supersedes the older.
FEATURE = "edits"
# Longer documents have no edit history.
MAX_CHARACTERS = 400_000


class NextEdits:
    """Tracks changes of documents, and finds the sites of the last edit."""

    def __init__(self, session: Session, engines: EnginePool, tasks: Tasks) -> None:
        self._session, self._engines, self._tasks = session, engines, tasks
        self._carries: dict[Path | None, Carry] = {}
        self._opened: dict[str, str] = {}  # unquoted URI -> the URI as the editor opened it

    # Events of documents.

    def opened(self, uri: str) -> None:
        """A document was opened; it gets no history if suggestions are off in it."""
        document = self._session.document(uri)
        if document is None or len(document.source) > MAX_CHARACTERS or self._is_off(uri):
            return
        self._opened[unquote(uri)] = document.uri
        self.carry(uri).history.opened(document.uri, document.source)

    def changed(self, uri: str) -> None:
        """A document was changed."""
        document = self._session.document(uri)
        if document is None:
            return
        if unquote(uri) in self._opened:
            self.carry(uri).changed(document.uri, document.source)
        else:
            self.opened(uri)  # suggestions were off when it was opened

    def closed(self, uri: str) -> None:
        """A document was closed."""
        self.carry(uri).history.closed(self._opened.pop(unquote(uri), uri))

    def regroup(self) -> None:
        """The workspace folders changed: drop histories of removed folders, and add open documents to those of their
        new ones."""
        here = self._session.folders()
        self._carries = {folder: carry for folder, carry in self._carries.items() if folder in here}
        for document in self._session.documents():
            own = self.carry(document.uri)
            for carry in self._carries.values():
                if carry is not own:
                    carry.history.closed(document.uri)
            self.opened(document.uri)

    def dismissed(self, ids: set[str] | None) -> None:
        """The user dismissed these offers, or all (None), for the last edit."""
        for carry in self._carries.values():
            carry.dismiss(ids)

    # Queries about the last edit.

    def carry(self, uri: str) -> Carry:
        """The history of the document's folder, with the offers for its last edit."""
        return self._carries.setdefault(self._session.folder(uri), Carry())

    async def offers(self, uri: str) -> list[Offer]:
        """All offers for the last edit in the document's folder. Raises UserError and Superseded."""

        async def found() -> list[Offer]:
            async with aclosing(self.ask(uri)) as offers:
                return [offer async for offer in offers]

        return await self._tasks.run(FEATURE, uri, found())

    async def ask(self, uri: str) -> AsyncGenerator[Offer]:
        """Yield the offers for the last edit in the document's folder as they are found. Raises UserError."""
        snapshot = await self._session.snapshot_for_request(uri)
        last = await self.last(uri)
        if last is None or snapshot is None:
            return
        edit, (own,) = last[0], await reported(self._session, [last[1]])
        history = self.carry(uri).history
        if history.last is None or (history.last.uri, history.text(own.uri)) != (own.uri, own.text):
            return  # the user went on meanwhile
        steps = history.earlier(history.last, MAX_PAST)
        used = [own]
        connection = connection_for(snapshot.settings, self._engines)
        connection.connect_in_background()

        async def pages(edit: Edit) -> Sequence[Page]:
            opened = await reported(self._session, await self._open_pages(snapshot, own))
            used.extend([*opened, *await self._files(snapshot, edit, own)])
            used.extend(await settle_doubts(self._session, snapshot.workspace, edit, used))
            return used

        async def proposals(edit: Edit, own: Page, pages: Sequence[Page]) -> AsyncGenerator[Proposal]:
            engine = connection if connection.is_ready else None
            past = await asyncio.to_thread(lambda: [history.edit(step, edit.path) for step in steps])
            async with aclosing(next_edits(engine, edit, own, pages, past=[one for one in past if one])) as found:
                async for proposal in found:
                    yield proposal

        try:
            async with aclosing(self.carry(uri).ask(proposals, own, edit, pages)) as offers:
                async for offer in offers:
                    yield offer
        finally:
            asyncio.get_running_loop().run_in_executor(None, _release, used)

    async def last(self, uri: str) -> tuple[Edit, Page] | None:
        """The last edit in the document's folder and the page it was made on; None if there is none that may be
        read."""
        history = self.carry(uri).history
        while True:
            step = history.last
            text = history.text(step.uri) if step else None
            snapshot = self._session.snapshot(step.uri) if step else None
            if step is None or text is None or snapshot is None:
                return None
            if not await self._may_read(snapshot):
                history.closed(step.uri)  # as if it had never been opened
                self._opened.pop(unquote(step.uri), None)
                continue
            edit = history.edit(step, snapshot.name)
            if edit is None:
                return None
            # Offers applied since then have moved the rows of the edit.
            edited = moved(edit.ranges(), Edit.between("", step.after, text))
            return edit, Page(step.uri, edit.path, text, snapshot.language, tuple(edited))

    async def _open_pages(self, snapshot: Snapshot, own: Page) -> list[Page]:
        """The other open documents of the folder."""
        folder = self._session.folder(snapshot.uri)
        found: list[Page] = []
        for document in self._session.documents():
            text = self.carry(snapshot.uri).history.text(document.uri)
            if document.uri == own.uri or text is None or self._session.folder(document.uri) != folder:
                continue
            other = self._session.snapshot(document.uri)
            if other and await self._may_read(other):
                found.append(Page(other.uri, other.name, text, other.language))
        return found

    async def _files(self, snapshot: Snapshot, edit: Edit, own: Page) -> list[Page]:
        """Files that are not open and may have sites."""
        paths = [document_path(document.uri) for document in self._session.documents()]
        return await asyncio.to_thread(_other_files, snapshot, edit, own, paths)

    async def _may_read(self, snapshot: Snapshot) -> bool:
        return not await self._session.worker(snapshot.workspace.excludes, snapshot.path)

    def _is_off(self, uri: str) -> bool:
        snapshot = self._session.snapshot(uri)
        return snapshot is None or snapshot.eagerness == "off"


def _release(pages: Sequence[Page]) -> None:
    for page in pages:
        page.release()


def _other_files(snapshot: Snapshot, edit: Edit, own: Page, opened: list[Path]) -> list[Page]:
    """Pages of files that are not `opened`. Reads files."""
    real = {os.path.realpath(path) for path in opened}
    workspace = snapshot.workspace
    return [
        Page(from_fs_path(str(path)) or "", workspace.name(path), text, languages.of(path))
        for path, text in others(workspace, edit, own)
        if os.path.realpath(path) not in real
    ]


def moved(ranges: Sequence[tuple[int, int]], change: Edit) -> list[tuple[int, int]]:
    """The ranges of rows after a change that does not touch them."""
    found: list[tuple[int, int]] = []
    for first, last in ranges:
        shift = sum(len(each.lines) - (each.end - each.start) for each in change.hunks if each.end <= first)
        found.append((first + shift, last + shift))
    return found
