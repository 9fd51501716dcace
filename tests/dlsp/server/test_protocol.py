"""Whatever is sent: requests are answered, and the server goes on."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError

from dlsp.server.protocol import described
from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

URI = "untitled:Untitled-1"
TEXT = "def add(a, b):\n    return \n"
ERRORS = types.ErrorCodes

pytestmark = pytest.mark.asyncio(loop_scope="function")


@pytest_asyncio.fixture
async def editor(stub: StubEngine) -> AsyncIterator[Editor]:
    async with Editor() as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        yield editor


async def code(asked: Any) -> int:
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wait_for(asked, 30)
    assert "Traceback" not in str(error.value)
    assert error.value.data is None
    return error.value.code


def request(method: Any, params: Any = None, id: Any = "odd") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


async def test_requests_that_are_none(editor: Editor) -> None:
    assert await code(editor.raw(request("no/such"), "odd")) == ERRORS.MethodNotFound
    assert await code(editor.raw(request(7), "odd")) == ERRORS.InvalidRequest
    assert await code(editor.raw(request("shutdown") | {"jsonrpc": "1.0"}, "odd")) == ERRORS.InvalidRequest
    assert await code(editor.raw(request("shutdown", id=["odd"]), None)) == ERRORS.InvalidRequest
    assert await code(editor.raw(request("initialize", {"capabilities": {}}), "odd")) == ERRORS.InvalidRequest
    command = request("workspace/executeCommand", {"command": "no such"})
    assert await code(editor.raw(command, "odd")) == ERRORS.InvalidParams
    assert await editor.suggestion(URI, 1, 11) is not None


async def test_what_is_no_json_or_no_object(editor: Editor) -> None:
    for body in (b"{", b"\xff\xfe", b"[" * 100_000, b"nul"):
        assert await code(send(editor, body)) == ERRORS.ParseError
    for body in (b"[]", b"3", b'"text"', b"null"):
        assert await code(send(editor, body)) == ERRORS.InvalidRequest
    assert await editor.suggestion(URI, 1, 11) is not None


async def send(editor: Editor, body: bytes) -> Any:
    """Send raw bytes as a message; what is answered to no id."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    editor.client.protocol._request_futures[None] = future  # type: ignore[index, assignment]
    writer = editor.client.protocol.writer
    assert writer is not None
    done = writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    if done is not None:
        await done
    return await future


async def test_a_text_that_looks_like_a_message_is_text(editor: Editor, stub: StubEngine) -> None:
    command = request("workspace/executeCommand", {"command": "x", "arguments": [{"jsonrpc": "2.0", "id": 1}]})
    assert await code(editor.raw(command, "odd")) == ERRORS.InvalidParams


async def test_notifications_that_mean_nothing_are_passed_over(editor: Editor) -> None:
    protocol = editor.client.protocol
    odd = {"textDocument": {"uri": "file:///never/opened.py", "version": 3}}
    change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "x"}
    for method, params in (
        ("textDocument/didChange", odd | {"contentChanges": [change]}),
        ("textDocument/didChange", {"contentChanges": 3}),
        ("textDocument/didClose", odd),
        ("textDocument/didOpen", None),
        ("notebookDocument/didChange", {"notebookDocument": {"uri": "n", "version": 1}, "change": {}}),
        ("$/cancelRequest", {"id": "nobody's"}),
        ("$/cancelRequest", {}),
        ("window/workDoneProgress/cancel", {"token": "nobody's"}),
        ("workspace/didChangeConfiguration", {"settings": None}),
        (
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [], "removed": [{"uri": "file:///x", "name": "x"}]}},
        ),
        ("no/such", {"a": [1]}),
    ):
        protocol._send_data({"jsonrpc": "2.0", "method": method, "params": params})
    protocol._send_data({"jsonrpc": "2.0", "id": "nobody's", "result": 3})
    protocol._send_data({"jsonrpc": "2.0", "id": "nobody's", "error": {"code": 1, "message": "x"}})
    assert await editor.suggestion(URI, 1, 11) is not None
    assert editor.shown == []


async def test_a_change_of_a_document_that_was_closed_is_passed_over(editor: Editor) -> None:
    """VS Code takes back what was not saved after it has closed the document."""
    closed = types.VersionedTextDocumentIdentifier(2, "file:///project/closed.py")
    changes = [types.TextDocumentContentChangeWholeDocument("x")]
    before = len(editor.log)
    editor.client.text_document_did_change(types.DidChangeTextDocumentParams(closed, changes))
    assert await editor.suggestion(URI, 1, 11) is not None
    assert not [each for each in editor.log[before:] if "rror" in each]


async def test_an_error_is_logged_with_its_kind_and_place_alone() -> None:
    try:
        raise KeyError("secret: text")
    except KeyError:
        error = JsonRpcInternalError.of(sys.exc_info())
    said = described(error)
    assert said.startswith("error: KeyError in test_an_error_is_logged_with_its_kind_and_place_alone, ")
    assert "secret" not in said
    assert described(JsonRpcException("The document is not open.")) == "refused: The document is not open."


async def test_before_initialize_and_after_shutdown(stub: StubEngine) -> None:
    editor = Editor()
    await editor.client.start_io(*editor.command)
    assert await code(editor.raw(request("textDocument/inlineCompletion"), "odd")) == ERRORS.ServerNotInitialized
    async with Editor() as other:
        await other.client.shutdown_async(None)
        assert await code(other.raw(request("textDocument/inlineCompletion"), "odd")) == ERRORS.InvalidRequest
        other.client.exit(None)
        assert other.client._server is not None
        assert await asyncio.wait_for(other.client._server.wait(), 30) == 0
    server = editor.client._server
    assert server is not None
    editor.client.exit(None)
    assert await asyncio.wait_for(server.wait(), 30) == 1, "without a shutdown before"
    await editor.client.stop()


async def test_an_internal_error_shows_no_traceback(editor: Editor) -> None:
    """`resolve` of nothing that was registered makes pygls fail inside."""
    for params in ({"command": 3}, [], "x"):
        assert await code(editor.raw(request("workspace/executeCommand", params), "odd")) in (
            ERRORS.InvalidParams,
            ERRORS.InternalError,
        )


async def test_remote_and_unsaved_documents(editor: Editor, stub: StubEngine, state_folder: Path) -> None:
    for uri, path in (
        ("untitled:Untitled-2", "Untitled-2"),
        ("vscode-remote://ssh-remote%2Bhost/home/u/sum.py", "sum.py"),
        ("vscode-vfs://github/o/r/sum%20two.py", "sum two.py"),
        ("odd", "odd"),
    ):
        editor.open(uri, TEXT)
        item = await editor.suggestion(uri, 1, 11)
        assert item is not None, uri
        assert path in {each["gaps"][0]["path"] for each in stub.requests}
        assert editor.answers[-1]["decision"]["language"] == "python"


async def test_cells_of_a_notebook_are_documents(editor: Editor, stub: StubEngine) -> None:
    sync = editor.initialized.capabilities.notebook_document_sync
    assert sync is not None
    cell, other = "vscode-notebook-cell:/p/n.ipynb#A", "vscode-notebook-cell:/p/n.ipynb#B"
    book = {"uri": "file:///p/n.ipynb", "notebookType": "jupyter-notebook", "version": 1}
    cells = [{"kind": 2, "document": each} for each in (cell, other)]
    documents = [{"uri": each, "languageId": "python", "version": 1, "text": TEXT} for each in (cell, other)]
    notify = editor.client.protocol._send_data

    def change(change: Any) -> None:
        params = {"notebookDocument": {"uri": book["uri"], "version": 2}, "change": {"cells": change}}
        notify({"jsonrpc": "2.0", "method": "notebookDocument/didChange", "params": params})

    opened = {"notebookDocument": book | {"cells": cells}, "cellTextDocuments": documents}
    notify({"jsonrpc": "2.0", "method": "notebookDocument/didOpen", "params": opened})
    assert await editor.suggestion(cell, 1, 11) is not None

    stub.hold.set()
    asked = editor.ask(cell, 1, 10)
    await asyncio.to_thread(stub.wait_for, lambda it: len(it.requests) > 2)
    here = {"line": 1, "character": 11}
    typed = {"document": {"uri": cell, "version": 2}, "changes": [{"range": {"start": here, "end": here}, "text": "a"}]}
    change({"textContent": [typed]})
    assert not (await asyncio.wait_for(asked, 30)).items, "an edit of a cell makes its request stale"
    stub.hold.clear()
    assert await editor.suggestion(cell, 1, 12) is not None
    typed = [gap for request in stub.requests for gap in request.get("gaps", []) if gap["middle"] == "a"]
    assert typed or editor.answers[-1]["decision"]["memory"]

    change({"structure": {"array": {"start": 1, "deleteCount": 1}, "didClose": [{"uri": other}]}})
    assert await editor.suggestion(other, 1, 11) is None
    assert editor.skip == "unknown"


async def test_a_cell_is_read_with_the_cells_around_it(stub: StubEngine, tmp_path: Path) -> None:
    async with Editor(tmp_path) as editor:
        notify = editor.client.protocol._send_data
        texts = [("python", "import numpy as np"), ("markdown", "Some words."), ("python", "x = '😀', np.")]
        texts += [("python", "print(x)")]
        cells = [f"vscode-notebook-cell:{tmp_path.as_posix()}/n.ipynb#{at}" for at in range(len(texts))]
        book = {"uri": (tmp_path / "n.ipynb").as_uri(), "notebookType": "jupyter-notebook", "version": 1}
        book["cells"] = [{"kind": 2, "document": each} for each in cells]
        documents = [
            {"uri": uri, "languageId": language, "version": 1, "text": text}
            for uri, (language, text) in zip(cells, texts, strict=True)
        ]
        opened = {"notebookDocument": book, "cellTextDocuments": documents}
        notify({"jsonrpc": "2.0", "method": "notebookDocument/didOpen", "params": opened})
        await editor.ready(cells[2])
        item = await editor.suggestion(cells[2], 0, 13)
        assert item is not None
        assert item.range == types.Range(types.Position(0, 13), types.Position(0, 13))
        (gap,) = stub.asked[-1]["gaps"]
        assert (gap["prefix"] + gap["middle"], gap["suffix"]) == ("import numpy as np\n\nx = '😀', np.", "\n\nprint(x)")

        (tmp_path / ".dlspignore").write_text("*.ipynb\n")
        notify(
            {
                "jsonrpc": "2.0",
                "method": "notebookDocument/didChange",
                "params": {
                    "notebookDocument": {"uri": book["uri"], "version": 2},
                    "change": {
                        "cells": {
                            "textContent": [
                                {"document": {"uri": cells[2], "version": 2}, "changes": [{"text": "x = 1 + "}]}
                            ]
                        }
                    },
                },
            }
        )
        assert await editor.suggestion(cells[2], 0, 8) is None
        assert editor.skip == "ignored"


async def test_settings_change_without_a_restart(stub: StubEngine, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    (two / "pyproject.toml").write_text('[tool.dlsp]\nmode = "autoregressive"\n')
    settings: dict[str | None, Any] = {}
    async with Editor(folders=[one, two], settings=settings) as editor:
        uris = [(folder / "a b.py").as_uri() for folder in (one, two)]
        for uri in uris:
            editor.open(uri, TEXT)
        await editor.ready(uris[0])

        async def modes() -> list[str]:
            for uri in uris:
                editor.open(uri, TEXT)  # anew: nothing is recalled
                assert await editor.suggestion(uri, 1, 11) is not None
            assert stub.asked[-1]["gaps"][0]["path"] == "a b.py"
            return [request["mode"] for request in stub.asked[-2:]]

        async def until(wanted: list[str]) -> None:
            async with asyncio.timeout(20):
                while await modes() != wanted:
                    await asyncio.sleep(0.02)

        assert await modes() == ["verified", "autoregressive"]
        (two / "pyproject.toml").write_text('[tool.dlsp]\nmode = "verified"  # changed\n')
        assert await modes() == ["verified", "verified"]
        settings[one.as_uri()] = {"mode": "diffusion"}
        editor.configure(None)
        await until(["diffusion", "verified"])
        settings[None] = settings[two.as_uri()] = {"mode": "autoregressive"}
        editor.configure(None)
        await until(["diffusion", "autoregressive"])
    assert editor.shown == []


async def test_settings_that_are_pushed(editor: Editor, stub: StubEngine) -> None:
    editor.configure({"dlsp": {"mode": "diffusion"}, "other": {"mode": 3}})
    await editor.suggestion(URI, 1, 11)
    assert stub.requests[-1]["mode"] == "diffusion"
    editor.configure({"dlsp": {"model": "no-such"}})
    await editor.suggestion(URI, 1, 11)
    assert stub.requests[-1]["mode"] == "verified"
    assert "no-such" in editor.shown[0]


async def test_status_and_the_reasons_for_quiet(editor: Editor, stub: StubEngine) -> None:
    assert [(each.busy, each.kind) for each in editor.statuses[-1:]] == [(False, "Normal")]
    assert await editor.suggestion(URI, 99, 0) is None
    await editor.suggestion(URI, 1, 11)
    assert stub.asked[-1]["quiet"]["outside"] == 1
    await editor.suggestion(URI, 1, 10)
    assert "quiet" not in stub.asked[-1]
    assert any(each.busy for each in editor.statuses)


async def logged(state_folder: Path, line: str) -> str:
    """The server's log once it holds `line`; it is written beside the answers, not before them."""
    file = state_folder / "server.log"
    async with asyncio.timeout(10):
        while line not in (log := file.read_text() if file.exists() else ""):
            await asyncio.sleep(0.02)
    return log


async def test_the_log_file_has_no_text_unless_asked(stub: StubEngine, state_folder: Path, editor: Editor) -> None:
    stub.answer = lambda request: "hunter2"
    await editor.suggestion(URI, 1, 11)
    assert "hunter2" not in await logged(state_folder, "a suggestion, 7 characters")
    editor.configure({"dlsp": {"log": "text"}})
    await editor.suggestion(URI, 1, 11)
    await logged(state_folder, "answered 'hunter2'")
