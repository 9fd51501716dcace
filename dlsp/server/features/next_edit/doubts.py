"""What the editor's other language servers know of a name that was renamed, asked by `dlsp/askServers`."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import from_fs_path

from dlsp.context.workspace import Workspace
from dlsp.edits.history.edit import Edit
from dlsp.edits.rank.doubts import Doubts, Place, doubts, settle
from dlsp.edits.search.files import MAX_BYTES, MAX_FILES
from dlsp.edits.search.page import SEARCH_S, Page
from dlsp.ignore.reading import read
from dlsp.server.client import RenameQuestion
from dlsp.server.features.positions import Positions
from dlsp.server.params import Placed
from dlsp.server.session import Session, document_path
from dlsp.syntax import languages

# The most seconds that next edits wait for other language servers.
ANSWER_S = 1.5


async def settle_doubts(session: Session, workspace: Workspace, edit: Edit, pages: Sequence[Page]) -> list[Page]:
    """Have other language servers decide where scopes and imports do not, and note it on the pages; the edit's is the
    first. Returns pages of further files with places that they would rename."""
    if not session.client.asks_servers:
        return []
    asked = await asyncio.to_thread(doubts, edit, pages[0], pages, time.monotonic() + SEARCH_S)
    if asked is None:
        return []
    opened = {document.uri: document.version for document in session.documents()}
    places = Places(pages, opened, session.units)
    answer = await session.client.ask_servers(await asyncio.to_thread(places.question, asked, pages[0]), ANSWER_S)
    if answer is None:
        return []
    renamed, references = answer.rename or [], (answer.references or [])[: len(asked.open)]
    elsewhere = {each.text_document.uri for each in renamed if not places.has(each)}
    known = {document_path(uri) for uri in (*(page.uri for page in pages), *opened)}
    joined = await session.worker(_pages, workspace, elsewhere, known) if elsewhere else []
    places.add(joined)

    def note() -> None:
        found = [places.found(each, asked.old) for each in (renamed, *references)]
        settle(asked, [*pages, *joined], found[0], found[1:])

    await asyncio.to_thread(note)
    return joined


class Places:
    """Places on pages, as they are sent to the editor and come from there; `opened` are the versions of open
    documents."""

    def __init__(self, pages: Sequence[Page], opened: Mapping[str, int | None], units: Callable[[str], int]) -> None:
        self._opened = {unquote(uri): version for uri, version in opened.items()}
        self._units = units
        self._pages: dict[str, Page] = {}
        self._positions: dict[str, Positions] = {}
        self.add(pages)

    def add(self, pages: Sequence[Page]) -> None:
        """Know these pages too."""
        for page in pages:
            self._pages[unquote(page.uri)] = page

    def has(self, placed: Placed) -> bool:
        """Whether the place is on one of the pages."""
        return unquote(placed.text_document.uri) in self._pages

    def question(self, asked: Doubts, own: Page) -> RenameQuestion:
        """The question to the servers of the page `own`."""
        kept = self._sent(asked.kept) if asked.kept else None
        return RenameQuestion(own.uri, asked.new, kept, [self._sent(each) for each in asked.open])

    def found(self, placed: Collection[Placed], old: str) -> set[Place]:
        """The places of an answer. One on a page that does not have the old name there is left out; one that is on no
        page, as in a library, counts as a place at no offset."""
        found: set[Place] = set()
        for each in placed:
            page = self._pages.get(unquote(each.text_document.uri))
            offset = self._positioned(page).offset(each.position.lsp()) if page else None
            if page is None:
                found.add(Place(each.text_document.uri, -1))
            elif offset is not None and page.text.startswith(old, offset):
                found.add(Place(page.uri, offset))
        return found

    def _sent(self, place: Place) -> tuple[str, int | None, types.Position]:
        """A place as it is sent."""
        uri = unquote(place.uri)
        return place.uri, self._opened.get(uri), self._positioned(self._pages[uri]).position(place.offset)

    def _positioned(self, page: Page) -> Positions:
        if page.uri not in self._positions:
            self._positions[page.uri] = Positions(page.text, self._units)
        return self._positions[page.uri]


def _pages(workspace: Workspace, uris: set[str], known: set[Path]) -> list[Page]:
    """The pages of those files that may be read and are not known by another name. Reads files."""
    real = {os.path.realpath(path) for path in known}
    found: list[Page] = []
    for uri in sorted(uris)[:MAX_FILES]:
        path = document_path(uri)
        is_inside = workspace.root is not None and path.is_relative_to(workspace.root)
        if not is_inside or os.path.realpath(path) in real or workspace.excludes(path):
            continue
        try:
            text = read(path, MAX_BYTES, workspace.root).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        found.append(Page(from_fs_path(str(path)) or uri, workspace.name(path), text, languages.of(path)))
    return found
