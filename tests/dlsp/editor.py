"""An editor for tests: drives a real `dlsp serve --stdio` subprocess with pygls' own client."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Self

from lsprotocol import types
from pygls.lsp.client import LanguageClient

CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
WIDTH = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
END_S = 60.0


def applied(item: types.InlineCompletionItem, text: str, encoding: str) -> str:
    """`text` after the item was accepted, worked out on encoded text as the protocol defines positions."""
    assert item.range is not None
    assert isinstance(item.insert_text, str)
    codec = CODECS[encoding]
    starts = [0, *(ending.end() for ending in re.finditer("\r\n|\n|\r", text))]
    start, end = (
        len(text[: starts[place.line]].encode(codec)) + place.character * WIDTH[encoding]
        for place in (item.range.start, item.range.end)
    )
    encoded = text.encode(codec)
    return (encoded[:start] + item.insert_text.encode(codec) + encoded[end:]).decode(codec)


class Editor:
    """Use as `async with Editor() as editor`. Positions count from 0, in units of `encoding`.

    `settings` maps a scope (a URI, or None) to what `workspace/configuration` is answered; None: it cannot be asked.
    `answers` are the parameters of `dlsp/didAnswer`, one for each completion that was asked for.
    `ghosts`: it says that it asks for ghost text. `completion`: what it says that it knows of items. `servers` answers
    for the other language servers; what they were asked is in `questions`.
    """

    command: tuple[str, ...] = (sys.executable, "-m", "dlsp", "--stdio")

    def __init__(
        self,
        folder: Path | None = None,
        encoding: str = "utf-16",
        options: Any = None,
        folders: Sequence[Path] = (),
        settings: dict[str | None, Any] | None = None,
        annotations: bool = False,
        ghosts: bool = True,
        completion: types.ClientCompletionItemOptions | None = None,
        name: str = "",
        servers: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.client = LanguageClient("test-editor", "1")
        self.log: list[str] = []
        self.shown: list[str] = []
        self.progress: list[Any] = []
        self.statuses: list[Any] = []
        self.answers: list[dict[str, Any]] = []
        self.folder, self.encoding, self.options = folder, encoding, options
        self.folders, self.settings, self.annotations = folders, settings, annotations
        self.ghosts, self.completion, self.name = ghosts, completion, name
        self.servers = servers
        self.questions: list[dict[str, Any]] = []
        self.versions: dict[str, int] = {}
        self.stderr = ""
        client = self.client

        @client.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.log.append(params.message)

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.shown.append(params.message)

        @client.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(params: types.WorkDoneProgressCreateParams) -> None:
            pass

        @client.feature(types.PROGRESS)
        def progress(params: types.ProgressParams) -> None:
            self.progress.append(params.value)

        @client.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            given = [(self.settings or {}).get(item.scope_uri) for item in params.items]
            return self.answered_settings(given)

        @client.feature("dlsp/askServers")
        async def asked_servers(params: Any) -> Any:
            assert self.servers is not None
            self.questions.append(_plain(params))
            answer = self.servers(self.questions[-1])
            return await answer if isinstance(answer, Awaitable) else answer

        @client.feature("dlsp/didAnswer")
        def answered(params: Any) -> None:
            self.answers.append(_plain(params))

        @client.feature("didChangeStatus")
        def status(params: Any) -> None:
            self.statuses.append(params)

    def answered_settings(self, given: list[Any]) -> Any:
        """What is answered where these settings would be right."""
        return given

    async def connect(self) -> None:
        await self.client.start_io(*self.command, env=os.environ | {"PYTHONFAULTHANDLER": "1"})

    async def __aenter__(self) -> Self:
        await self.connect()
        self.initialized = await self.client.initialize_async(
            types.InitializeParams(
                types.ClientCapabilities(
                    general=types.GeneralClientCapabilities(
                        position_encodings=[types.PositionEncodingKind(self.encoding)]
                    ),
                    window=types.WindowClientCapabilities(work_done_progress=True),
                    text_document=types.TextDocumentClientCapabilities(
                        inline_completion=types.InlineCompletionClientCapabilities() if self.ghosts else None,
                        completion=types.CompletionClientCapabilities(completion_item=self.completion),
                    ),
                    experimental={"askServers": True} if self.servers else None,
                    notebook_document=types.NotebookDocumentClientCapabilities(
                        types.NotebookDocumentSyncClientCapabilities()
                    ),
                    workspace=types.WorkspaceClientCapabilities(
                        configuration=self.settings is not None,
                        workspace_edit=types.WorkspaceEditClientCapabilities(
                            document_changes=True,
                            change_annotation_support=types.ChangeAnnotationsSupportOptions()
                            if self.annotations
                            else None,
                        ),
                    ),
                ),
                client_info=types.ClientInfo(self.name) if self.name else None,
                workspace_folders=[types.WorkspaceFolder(each.as_uri(), each.name) for each in self.folders] or None,
                root_uri=self.folder.as_uri() if self.folder else None,
                initialization_options=self.options,
            )
        )
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_: object) -> None:
        server = self.client._server
        try:
            async with asyncio.timeout(END_S):
                if server is None or server.returncode is None:
                    await self.client.shutdown_async(None)
                    self.client.exit(None)
                if server is not None and server.stderr is not None:
                    self.stderr = (await server.stderr.read()).decode()
        except TimeoutError:
            assert server is not None
            assert server.stderr is not None
            server.send_signal(signal.SIGABRT)  # it writes where its threads are
            where = (await server.stderr.read()).decode()
            raise AssertionError(f"The server has not ended {END_S} s after `shutdown`:\n{where}") from None
        await self.client.stop()

    def open(self, uri: str, text: str) -> None:
        self.versions[uri] = 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text))
        )

    def type(self, uri: str, line: int, character: int, text: str) -> None:
        """Insert `text` at a position."""
        self.versions[uri] += 1
        here = types.Position(line, character)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangePartial(types.Range(here, here), text)],
            )
        )

    def delete(self, uri: str, line: int, start: int, end: int) -> None:
        """Delete the characters from `start` to `end` of a line."""
        self.versions[uri] += 1
        span = types.Range(types.Position(line, start), types.Position(line, end))
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangePartial(span, "")],
            )
        )

    def ask(self, uri: str, line: int, character: int, id: str | None = None) -> asyncio.Future[Any]:
        """Ask for an inline completion; the future holds an InlineCompletionList."""
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic),
            types.TextDocumentIdentifier(uri),
            types.Position(line, character),
        )
        return self.client.protocol.send_request_async(types.TEXT_DOCUMENT_INLINE_COMPLETION, params, id)

    def configure(self, settings: Any) -> None:
        """Say that settings have changed, with what they are now or, to be asked for them, with None."""
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))

    async def raw(self, message: dict[str, Any], id: Any) -> Any:
        """Send a message as it is; the result of the answer with this id."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.client.protocol._request_futures[id] = future  # type: ignore[assignment]
        self.client.protocol._send_data(message)
        return await asyncio.wait_for(future, 30)

    def cancel(self, id: str) -> None:
        self.client.cancel_request(types.CancelParams(id))

    async def suggestion(self, uri: str, line: int, character: int) -> types.InlineCompletionItem | None:
        """The item offered there, None for quiet."""
        items = (await asyncio.wait_for(self.ask(uri, line, character), 60)).items
        assert len(items) <= 1
        return items[0] if items else None

    @property
    def skip(self) -> str | None:
        """Why the last completion that was asked for was skipped; None for a suggestion."""
        return self.answers[-1]["skip"]

    async def ready(self, uri: str, seconds: float = 60) -> None:
        """Until the engine is: ask as long as the reason for quiet is that it loads."""
        async with asyncio.timeout(seconds):
            while True:
                await self.suggestion(uri, 0, 0)
                if self.skip != "loading":
                    return
                await asyncio.sleep(0.02)


def _plain(value: Any) -> Any:
    """Objects that pygls has made of JSON, as dictionaries and lists."""
    if hasattr(value, "_asdict"):
        return {name: _plain(each) for name, each in value._asdict().items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
