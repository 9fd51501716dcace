"""The server object: what it knows of its editor."""

import asyncio
import logging
import time
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from dlsp import __version__
from dlsp.completions.decisions import Decisions
from dlsp.completions.gate.learning import Learning
from dlsp.completions.types import SkipReason
from dlsp.context.workspace import Workspace
from dlsp.models.catalogue import Model
from dlsp.server.documents import Document, Documents
from dlsp.server.feedback import Feedback
from dlsp.server.latest import Latest
from dlsp.server.link import Link
from dlsp.server.progress import Loading
from dlsp.server.protocol import Protocol, described, unreadable
from dlsp.server.status import Status
from dlsp.server.typing import Typing
from dlsp.settings.layers import SECTION, Configuration
from dlsp.settings.schema import Settings

log = logging.getLogger(__name__)

PULL_S = 5
RULES_S = 0.05
# What ignore rules say is not waited for longer: until it is known, a file counts as excluded.
CELL = "vscode-notebook-cell:"
NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells(notebook="*", cells=[types.NotebookCellLanguage("*")])]
)


class Server(LanguageServer):
    """One editor's server."""

    def __init__(self) -> None:
        super().__init__("dlsp", __version__, notebook_document_sync=NOTEBOOKS, protocol_cls=Protocol)
        self.latest = Latest()
        self.learning = Learning()
        self.decisions = Decisions()
        self.configuration = Configuration(self.tell)
        self.status = Status(self.protocol.notify)
        self._workspaces: dict[Path | None, Workspace] = {}
        self._quiet: Counter[str] = Counter()
        self._links: dict[Model, Link] = {}
        self._typings: dict[str, Typing] = {}
        self._snoozed_until = 0.0
        self.client_name = ""
        self.feedback = Feedback(self)

    def configure(self, params: types.InitializeParams) -> None:
        """Take the editor's settings; what cannot be used is told to the user."""
        assert isinstance(self.protocol, Protocol)
        self.protocol.keep(Documents(self.workspace))
        self.configuration.begin(params.initialization_options)
        self.client_name = params.client_info.name if params.client_info else ""

    @property
    def ghosts(self) -> bool:
        """Whether the editor asks for ghost text."""
        assert isinstance(self.protocol, Protocol)
        return self.protocol.ghosts

    async def pull_settings(self) -> None:
        """Ask the editor for its settings, for each folder of the workspace, if it can be asked."""
        workspace = self.client_capabilities.workspace
        if not (workspace and workspace.configuration):
            return
        folders = {folder: uri for uri in self._folder_uris() if (folder := _folder(uri))}
        items = [types.ConfigurationItem(section=SECTION)]
        items += [types.ConfigurationItem(uri, SECTION) for uri in folders.values()]
        with suppress(JsonRpcException, TimeoutError):
            async with asyncio.timeout(PULL_S):
                answer = await self.workspace_configuration_async(types.ConfigurationParams(items))
            self.configuration.pull(dict(zip([None, *folders], answer, strict=True)))

    async def register(self) -> None:
        """Ask to be told when settings change."""
        workspace = self.client_capabilities.workspace
        change = workspace and workspace.did_change_configuration
        if change and change.dynamic_registration:
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            registration = types.Registration("settings", method, {"section": SECTION})
            with suppress(JsonRpcException, TimeoutError):
                async with asyncio.timeout(PULL_S):
                    await self.client_register_capability_async(types.RegistrationParams([registration]))

    def settings(self, uri: str | None = None) -> Settings:
        """What is set for a document."""
        return self.configuration.of(self.folder(uri) if uri else None)

    def document(self, uri: str) -> Document | None:
        """An open document."""
        document = self.workspace.text_documents.get(unquote(uri))
        return document if isinstance(document, Document) else None

    def folder(self, uri: str) -> Path | None:
        """The innermost folder of the workspace that a document lies in."""
        return _innermost(uri, self._folder_uris())

    def surroundings(self, uri: str) -> Workspace:
        """Where a document's context comes from; from the first time on its folder's index is kept, but where
        suggestions are off."""
        folder, settings = self.folder(uri), self.settings(uri)
        found = self._workspaces.get(folder)
        if found is None or not found.has(settings.ignore, settings.context):
            if found:
                found.close()
            found = self._workspaces[folder] = Workspace(folder, settings.ignore, settings.context, RULES_S)
        document = self.document(uri)
        if document and settings.suggests(document.language_id or "") != "off":
            found.keep_index()
        return found

    def folders(self) -> set[Path | None]:
        """The folders of the workspace that lie on this machine, and None for what is in none of them."""
        return {None, *map(_folder, self._folder_uris())}

    def leave_folders(self) -> None:
        """Let go of those that have left the workspace."""
        for folder in self._workspaces.keys() - self.folders():
            self._workspaces.pop(folder).close()

    def notice(self, uri: str, row: int, *, edited: bool) -> None:
        """The user is at a row (from 0) of a document: other documents' context may show its surroundings."""
        document = self.document(uri)
        if document:
            workspace = self.surroundings(uri)
            workspace.recent.note(workspace.name(document_path(uri)), document.lines, row, edited=edited)

    def link(self, uri: str | None = None) -> Link:
        """The link to the engine of the model that is set for a document, as it is set now."""
        settings = self.settings(uri)
        model = settings.model
        if model not in self._links:
            self._links[model] = Link(model, lambda: Loading(self), self.tell, self.status)
        self._links[model].threads = settings.threads
        self._links[model].infill_update = settings.infill_update
        return self._links[model]

    def forget(self, uri: str) -> None:
        """A document was closed."""
        if workspace := self._workspaces.get(self.folder(uri)):
            workspace.forget(document_path(uri))
        self.begin_anew(uri)

    def typing(self, uri: str) -> Typing:
        """What is known of the typing in a document, under the settings of now."""
        settings = self.settings(uri)
        known = self._typings.get(uri)
        if known is None or known.settings != settings:
            if known:
                known.let_go()
            known = self._typings[uri] = Typing(settings)
        return known

    def begin_anew(self, uri: str) -> None:
        """Nothing is known any more of the typing in a document."""
        self.latest.drop(uri)
        if typing := self._typings.pop(uri, None):
            typing.let_go()

    def units(self, text: str) -> int:
        """The length of a text as positions count it."""
        return self.workspace.position_codec.client_num_units(text)

    @property
    def snoozed(self) -> bool:
        return time.monotonic() < self._snoozed_until

    def snooze(self, minutes: float) -> None:
        """No suggestions for so long, and no work for the engine; 0 ends it."""
        self._snoozed_until = time.monotonic() + 60 * minutes
        for typing in self._typings.values():
            typing.let_go()

    def stay_quiet(self, reason: SkipReason) -> None:
        """Count a reason, for the engine's metrics."""
        self._quiet[reason.name.lower()] += 1

    def quiet_since(self) -> dict[str, int]:
        """The reasons met since this was last asked."""
        counted, self._quiet = dict(self._quiet), Counter()
        return counted

    async def close(self) -> None:
        """The editor goes; engines go on for others."""
        self.learning.save()
        for typing in self._typings.values():
            typing.let_go()
        for workspace in self._workspaces.values():
            workspace.close()
        for link in self._links.values():
            await link.close()

    def tell(self, sentence: str) -> None:
        """Show the user a sentence."""
        log.warning("told: %s", sentence)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"dlsp: {sentence}"))

    def note(self, line: str) -> None:
        """Write a line to the editor's log and ours. Never of the document's text."""
        log.info("%s", line)
        self.window_log_message(types.LogMessageParams(types.MessageType.Log, line))

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """Log what pygls would pop up in the user's face, and answer what it could not parse."""
        assert isinstance(self.protocol, Protocol)
        if source is JsonRpcException and unreadable(error):
            self.protocol.unparsed()
        self.note(described(error))

    def _folder_uris(self) -> tuple[str, ...]:
        """The folders of the workspace as the editor wrote them."""
        workspace = self.workspace
        return tuple(folder.uri for folder in workspace.folders.values()) or (workspace.root_uri or "",)


# Reading a URI takes longer than much that is done for a keystroke, and asks for it several times.
@lru_cache(maxsize=512)
def document_path(uri: str) -> Path:
    """A document's path, of a notebook's cell the notebook's; of one that is no file its name."""
    return Path(_place(uri) or unquote(uri).rpartition("/")[2])


def _place(uri: str) -> str | None:
    return to_fs_path(f"file:{uri.removeprefix(CELL)}" if uri.startswith(CELL) else uri)


@lru_cache(maxsize=512)
def _innermost(uri: str, folders: tuple[str, ...]) -> Path | None:
    path = _place(uri)
    inside = [each for each in map(_folder, folders) if each and path and Path(path).is_relative_to(each)]
    return max(inside, key=lambda folder: len(folder.parts), default=None)


@lru_cache(maxsize=512)
def _folder(uri: str) -> Path | None:
    """A folder of the workspace, if it lies on this machine."""
    path = to_fs_path(uri)
    return Path(path) if path else None
