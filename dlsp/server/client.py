"""Messages and requests from the server to the editor."""

import asyncio
import logging
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from dlsp.engine.connection import LoadingProgress
from dlsp.server.params import ServersAnswer, read
from dlsp.settings.layers import as_mapping

log = logging.getLogger(__name__)

STATUS_METHOD = "didChangeStatus"
ASK_METHOD = "dlsp/askServers"
# Requests answered sooner than this many seconds do not count as busy.
BUSY_AFTER_S = 0.05
# Seconds that the editor has to answer a request, and to create a progress indicator.
QUESTION_TIMEOUT_S = 5
PROGRESS_TIMEOUT_S = 2


@dataclass(frozen=True)
class Question:
    """What the other language servers of a document are asked: the hover and the signature at a position each, and the
    errors in the document; `fixes` are the rows in which their fixes are wanted, too, the last one excluded."""

    uri: str
    hover: types.Position | None = None
    signature: types.Position | None = None
    diagnostics: bool = False
    fixes: tuple[int, int] | None = None

    @property
    def params(self) -> dict[str, Any]:
        """As they are sent, without what is not asked."""
        places = {"hover": self.hover, "signature": self.signature}
        asked = {name: {"line": at.line, "character": at.character} for name, at in places.items() if at}
        ends = [{"line": row, "character": 0} for row in self.fixes or ()]
        fixes = {"fixes": dict(zip(("start", "end"), ends, strict=True))} if ends else {}
        return {"textDocument": {"uri": self.uri}, **asked, "diagnostics": self.diagnostics, **fixes}


@dataclass(frozen=True)
class RenameQuestion:
    """What the other language servers of a document are asked when a name in it was changed to `new`: which places they
    would rename with the one at `kept`, and which have the same name as each of the others. A place is a document, its
    version, and a position."""

    uri: str
    new: str
    kept: tuple[str, int | None, types.Position] | None
    others: Sequence[tuple[str, int | None, types.Position]]

    @property
    def params(self) -> dict[str, Any]:
        """As they are sent."""

        def place(uri: str, version: int | None, at: types.Position) -> dict[str, Any]:
            position = {"line": at.line, "character": at.character}
            return {"textDocument": {"uri": uri, "version": version}, "position": position}

        rename = {"rename": {**place(*self.kept), "newName": self.new}} if self.kept else {}
        return {"textDocument": {"uri": self.uri}, **rename, "references": [place(*each) for each in self.others]}


class Client:
    """The editor at the other end of the connection. It also listens to the engine's connection, to show its state."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self.status = Status(server)
        self.name = ""

    @property
    def capabilities(self) -> types.ClientCapabilities:
        return self._server.client_capabilities

    def show(self, sentence: str) -> None:
        """Show the user a message."""
        log.warning("shown to the user: %s", sentence)
        self._server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"dlsp: {sentence}"))

    def log(self, line: str) -> None:
        """Write a line to the editor's log and the server's. It must not contain document text."""
        log.info("%s", line)
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Log, line))

    def notify(self, method: str, params: Any) -> None:
        """Send a notification that is not part of LSP."""
        self._server.protocol.notify(method, params)

    def partial_result(self, token: Any, value: Any) -> None:
        """Send a partial result, if the request has a token for it."""
        if token is not None:
            self._server.progress(types.ProgressParams(token, value))

    async def apply_edit(self, edit: types.WorkspaceEdit, label: str) -> None:
        """Ask the editor to apply an edit."""
        await self._server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, label))

    async def configuration(self, section: str, scopes: Sequence[str | None]) -> list[Any] | None:
        """The settings of a section for each scope (a URI, or None for global); an entry is None if the editor has
        none.

        Returns None if the editor does not support the request or did not answer with a list.
        """
        workspace = self.capabilities.workspace
        if not (workspace and workspace.configuration):
            return None
        items = [types.ConfigurationItem(scope, section) for scope in scopes]
        with suppress(JsonRpcException, TimeoutError):
            async with asyncio.timeout(QUESTION_TIMEOUT_S):
                answer: Any = await self._server.workspace_configuration_async(types.ConfigurationParams(items))
            if isinstance(answer, list | tuple):
                return [*cast("list[Any] | tuple[Any, ...]", answer), *[None] * len(scopes)][: len(scopes)]
        return None

    @property
    def asks_servers(self) -> bool:
        """Whether the editor announces that it asks the other language servers of a document."""
        return as_mapping(self.capabilities.experimental).get("askServers") is True

    async def ask_servers(
        self, question: Question | RenameQuestion, seconds: float = QUESTION_TIMEOUT_S
    ) -> ServersAnswer | None:
        """What the other language servers of a document say; None if no answer comes in time, or none that can be
        read."""
        with suppress(JsonRpcException, TimeoutError):
            async with asyncio.timeout(seconds):
                answer: Any = await self._server.protocol.send_request_async(ASK_METHOD, question.params)
            return await asyncio.to_thread(read, ServersAnswer, answer)
        return None

    async def register_for_settings(self, section: str) -> None:
        """Ask the editor to notify the server when settings change."""
        workspace = self.capabilities.workspace
        change = workspace and workspace.did_change_configuration
        if change and change.dynamic_registration:
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            registration = types.Registration("settings", method, {"section": section})
            with suppress(JsonRpcException, TimeoutError):
                async with asyncio.timeout(QUESTION_TIMEOUT_S):
                    params = types.RegistrationParams([registration])
                    await self._server.client_register_capability_async(params)

    # State of the engine.

    def engine_loading(self) -> None:
        self.status.engine(busy=True, kind="Normal", message="loading the model")

    def engine_ready(self, destination: str) -> None:
        self.status.engine(busy=False, kind="Normal", destination=destination)

    def engine_failed(self, sentence: str, is_new: bool) -> None:
        self.status.engine(busy=False, kind="Error", message=sentence)
        if is_new:
            self.show(sentence)

    def loading_progress(self) -> LoadingProgress:
        return ModelLoading(self._server)


class Status:
    """Sends `didChangeStatus` {busy, kind, message, destination} whenever the status changes, for an editor's status
    line.

    `kind` is `Normal`, `Warning` or `Error`. `destination` is where text goes, empty while no engine is connected.
    """

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._requests = 0
        self._timer: asyncio.TimerHandle | None = None
        self._engine = False, "Normal", "", ""
        self._sent: dict[str, Any] = {}

    def engine(self, *, busy: bool, kind: str, message: str = "", destination: str = "") -> None:
        """Set the engine's state: loading (busy), ready with a destination, or failed with a message."""
        self._engine = busy, kind, message, destination
        self._send()

    @contextmanager
    def busy(self) -> Generator[None]:
        """Context in which a request is being answered."""
        self._requests += 1
        self._timer = self._timer or asyncio.get_running_loop().call_later(BUSY_AFTER_S, self._send)
        try:
            yield
        finally:
            self._requests -= 1
            if self._requests == 0:
                if self._timer:
                    self._timer.cancel()
                self._timer = None
                self._send()

    def _send(self) -> None:
        busy, kind, message, destination = self._engine
        busy = busy or self._requests > 0
        now = {"busy": busy, "kind": kind, "message": message, "destination": destination}
        if now != self._sent:
            self._sent = now
            self._server.protocol.notify(STATUS_METHOD, now)


class ModelLoading:
    """LSP work-done progress while the model loads, if the editor supports it."""

    def __init__(self, server: LanguageServer) -> None:
        self._progress = server.work_done_progress
        window = server.client_capabilities.window
        self._wanted = bool(window and window.work_done_progress)
        self._shown = False
        self._token = str(uuid.uuid4())

    async def begin(self) -> None:
        if not self._wanted:
            return
        with suppress(JsonRpcException, TimeoutError):
            async with asyncio.timeout(PROGRESS_TIMEOUT_S):
                await self._progress.create_async(self._token)  # pyright: ignore[reportUnknownMemberType]
            self._shown = True
            self._progress.begin(self._token, types.WorkDoneProgressBegin("dlsp: loading the model"))

    def report(self, line: str) -> None:
        if self._shown:
            self._progress.report(self._token, types.WorkDoneProgressReport(message=line))

    def end(self, outcome: str) -> None:
        if self._shown:
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=outcome))
