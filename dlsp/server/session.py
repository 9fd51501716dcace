"""The session of one editor: its documents, settings and workspaces, from which requests take snapshots."""

import asyncio
import os
from collections import Counter
from functools import lru_cache
from pathlib import Path, PurePath
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path, urlparse

from dlsp.completions.types import Cursor, Position, SkipReason, Snapshot
from dlsp.completions.worker import Worker
from dlsp.context.workspace import Workspace
from dlsp.server.client import Client
from dlsp.server.documents import Document
from dlsp.settings.layers import SECTION, SettingsLayers
from dlsp.settings.schema import Settings
from dlsp.syntax import languages

NOTEBOOK_CELL_SCHEME = "vscode-notebook-cell:"
# Seconds to wait for ignore rules; until they are read, a file counts as excluded.
RULES_PATIENCE_S = 0.5


class Session:
    """The state of one editor. Features take a snapshot once per request and work on that.

    `worker` is the thread that reads workspaces.
    """

    def __init__(self, server: LanguageServer, client: Client, worker: Worker) -> None:
        self.client = client
        self.worker = worker
        self.settings = SettingsLayers(client.show)
        self._server = server
        self._workspaces: dict[Path | None, Workspace] = {}
        self._indexed: set[int] = set()
        self._edits: dict[Path | None, Counter[str]] = {}
        self._places: dict[tuple[str, tuple[str, ...]], tuple[Path | None, Path]] = {}

    # Documents.

    def document(self, uri: str) -> Document | None:
        """The open document with this URI; None if it is not open."""
        document = self._server.workspace.text_documents.get(unquote(uri))
        return document if isinstance(document, Document) else None

    def documents(self) -> list[Document]:
        """All open documents."""
        return [each for each in self._server.workspace.text_documents.values() if isinstance(each, Document)]

    def units(self, text: str) -> int:
        """The length of a text in the units of the negotiated encoding."""
        return self._server.workspace.position_codec.client_num_units(text)

    # Snapshots.

    async def refresh(self, uri: str) -> None:
        """Update the settings of a document's folder, in a thread; call it before a request takes its snapshot."""
        await asyncio.to_thread(lambda: self.settings.refresh(self._find_place(uri)))

    async def cursor_for_request(self, uri: str, position: types.Position) -> Cursor | SkipReason:
        """The cursor of a request, with current settings; STALE if the document is edited meanwhile."""
        before = self.document(uri)
        version = before.version if before else None
        await self.refresh(uri)
        after = self.document(uri)
        if before and (after is not before or before.version != version):
            return SkipReason.STALE
        return self.cursor(uri, position)

    def cursor(self, uri: str, position: types.Position) -> Cursor | SkipReason:
        """A cursor in an open document, or the skip reason."""
        document = self.document(uri)
        if document is None:
            return SkipReason.UNKNOWN
        found = document.cursor(position)
        if found is None:
            return SkipReason.OUTSIDE
        offset, right = found
        snapshot = self._snapshot(document)
        above, below = self._cells(document)
        return Cursor(
            **vars(snapshot),
            position=Position(right.line, right.character),
            before=above + snapshot.text[:offset],
            after=snapshot.text[offset:] + below,
        )

    async def snapshot_for_request(self, uri: str) -> Snapshot | None:
        """A snapshot of an open document with current settings; None if it is not open."""
        await self.refresh(uri)
        return self.snapshot(uri)

    def snapshot(self, uri: str) -> Snapshot | None:
        """A snapshot of an open document; None if it is not open."""
        document = self.document(uri)
        return self._snapshot(document) if document else None

    def _snapshot(self, document: Document) -> Snapshot:
        uri, language_id = document.uri, document.language_id or ""
        folder, path = self._place(uri)
        settings = self.settings.of(folder)
        workspace = self._workspace(folder, settings)
        if settings.suggests(language_id) != "off" and id(workspace) not in self._indexed:
            self._indexed.add(id(workspace))
            self.worker.submit(workspace.keep_index)
        edits = self._edits.get(folder, Counter())
        return Snapshot(
            uri=uri,
            path=path,
            name=path.relative_to(folder).as_posix() if folder else PurePath(urlparse(uri)[2]).name,
            language_id=language_id,
            language=languages.for_document(language_id, path),
            version=document.version,
            text=document.source,
            settings=settings,
            workspace=workspace,
            edits_elsewhere=edits.total() - edits[unquote(uri)],
        )

    def _cells(self, document: Document) -> tuple[str, str]:
        """The text of the notebook's cells before and after a cell, of those in its language; "" outside of
        notebooks."""
        book = self._server.workspace.get_notebook_document(cell_uri=document.uri)
        cells = [unquote(cell.document) for cell in book.cells] if book else []
        if unquote(document.uri) not in cells:
            return "", ""
        at, documents = cells.index(unquote(document.uri)), self._server.workspace.text_documents
        above, below = (
            [cell.source for each in part if (cell := documents.get(each)) and cell.language_id == document.language_id]
            for part in (cells[:at], cells[at + 1 :])
        )
        return "".join(f"{each}\n\n" for each in above), "".join(f"\n\n{each}" for each in below)

    # Events of documents.

    def visited(self, uri: str, row: int, *, edited: bool) -> None:
        """The user edits or views a row (from 0) of a document, which may become context for other documents."""
        document = self.document(uri)
        if document is None:
            return
        folder, path = self._place(document.uri)
        settings = self.settings.of(folder)
        if settings.suggests(document.language_id or "") == "off":
            return
        if edited:
            self._edits.setdefault(folder, Counter())[unquote(document.uri)] += 1
        workspace = self._workspace(folder, settings)
        workspace.recent.note(workspace.name(path), document.lines, row, edited=edited)

    def forget(self, uri: str) -> None:
        """A document was closed: drop its syntax tree, unless another open document (a cell) is in the same file."""
        folder, path = self._place(uri)
        workspace = self._workspaces.get(folder)
        if workspace and not any(self._place(each.uri)[1] == path for each in self.documents()):
            workspace.server_answers.forget(workspace.name(path))
            self.worker.submit(workspace.forget, path)

    # Folders and settings.

    def folder(self, uri: str) -> Path | None:
        """The innermost workspace folder that contains the document; None if none does."""
        return self._place(uri)[0]

    def folders(self) -> set[Path | None]:
        """The workspace folders on this machine, and None for documents outside of them."""
        return {None, *map(_folder, self._folder_uris())}

    async def pull_settings(self) -> None:
        """Request the settings from the editor, for each workspace folder, if it supports that."""
        folders = {folder: uri for uri in self._folder_uris() if (folder := _folder(uri))}
        answer = await self.client.configuration(SECTION, [None, *folders.values()])
        if answer is not None:
            self.settings.set_pulled(dict(zip([None, *folders], answer, strict=True)))

    def leave_folders(self) -> None:
        """Close the workspaces of folders that were removed."""
        self._places.clear()
        for folder in self._workspaces.keys() - self.folders():
            self._close_workspace(folder)

    async def close(self) -> None:
        """Close all workspaces and the worker."""
        for folder in list(self._workspaces):
            self._close_workspace(folder)
        await self.worker(lambda: None)  # wait until they are closed
        self.worker.close()

    def _workspace(self, folder: Path | None, settings: Settings) -> Workspace:
        """The workspace that provides the context of documents in this folder."""
        found = self._workspaces.get(folder)
        if found is None or not found.has(settings.ignore, settings.context):
            if found:
                self._close_workspace(folder)
            found = self._workspaces[folder] = Workspace(folder, settings.ignore, settings.context, RULES_PATIENCE_S)
        return found

    def _close_workspace(self, folder: Path | None) -> None:
        workspace = self._workspaces.pop(folder)
        self._indexed.discard(id(workspace))
        self.worker.submit(workspace.close)

    def _folder_uris(self) -> tuple[str, ...]:
        """The URIs of the workspace folders, as the editor sent them."""
        workspace = self._server.workspace
        return tuple(folder.uri for folder in workspace.folders.values()) or (workspace.root_uri or "",)

    def _place(self, uri: str) -> tuple[Path | None, Path]:
        """The innermost workspace folder that contains a document, and the document's path.

        Decided by the names alone until `_find_place` has checked the file system.
        """
        folders = self._folder_uris()
        return self._places.get((uri, folders)) or _named_place(uri, folders)

    def _find_place(self, uri: str) -> Path | None:
        """The folder of a document, even if its path contains a link or has other letter case.

        Reads the file system at the first call for a document.
        """
        folders = self._folder_uris()
        folder, path = self._place(uri)
        if (uri, folders) not in self._places:
            if folder is None and path.is_absolute():
                folder, path = _same_place(path, [each for each in map(_folder, folders) if each])
            self._places[uri, folders] = folder, path
        return folder


@lru_cache(maxsize=512)
def document_path(uri: str) -> Path:
    """The path of a document; for a notebook cell that of the notebook; for a URI that is not a file its last part."""
    return Path(_fs_path(uri) or unquote(uri).rpartition("/")[2])


def _fs_path(uri: str) -> str | None:
    in_notebook = uri.startswith(NOTEBOOK_CELL_SCHEME)
    return to_fs_path(f"file:{uri.removeprefix(NOTEBOOK_CELL_SCHEME)}" if in_notebook else uri)


@lru_cache(maxsize=512)
def _named_place(uri: str, folders: tuple[str, ...]) -> tuple[Path | None, Path]:
    path = _fs_path(uri)
    inside = [each for each in map(_folder, folders) if each and path and Path(path).is_relative_to(each)]
    return max(inside, key=lambda folder: len(folder.parts), default=None), document_path(uri)


def _same_place(path: Path, folders: list[Path]) -> tuple[Path | None, Path]:
    """The folder that is the same as one of the path's parents, whatever its name, and the path inside it."""
    for parent in path.parents:
        for folder in folders:
            try:
                if os.path.samefile(parent, folder):
                    return folder, folder / path.relative_to(parent)
            except OSError:
                continue
    return None, path


@lru_cache(maxsize=512)
def _folder(uri: str) -> Path | None:
    """The path of a workspace folder; None if it is not on this machine."""
    path = to_fs_path(uri)
    return Path(path) if path else None
