"""The server as an editor sees it: a real subprocess, with a stub engine behind it."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.index import store
from tests.dlsp.editor import Editor
from tests.dlsp.server.conftest import Running
from tests.dlsp.stub_engine import StubEngine

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\n    return \n"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def stub(running: Running) -> StubEngine:
    """The stub engine, answering as at first."""
    stub = running.stub
    stub.reset()
    return stub


@pytest_asyncio.fixture(loop_scope="module")
async def editor(running: Running, stub: StubEngine) -> Editor:
    """An editor with `URI` just opened."""
    editor = running.editor
    editor.open(URI, TEXT)
    await editor.ready(URI)
    stub.requests.clear()
    editor.answers.clear()
    return editor


async def until(happened: Any) -> None:
    async with asyncio.timeout(30):
        while not happened():
            await asyncio.sleep(0.01)


async def test_a_suggestion(editor: Editor, stub: StubEngine) -> None:
    item = await editor.suggestion(URI, 1, 11)
    here = types.Position(1, 11)
    assert item == types.InlineCompletionItem("a + b", range=types.Range(here, here))
    gap = {
        "prefix": "def add(a, b):\n    return ",
        "suffix": "\n",
        "middle": "",
        "path": "sum.py",
        "session": URI,
    }
    stub.asked[0].pop("quiet", None)  # reasons that `ready` met
    assert stub.asked == [{"gaps": [gap], "mode": "verified", "end": "line", "max_tokens": 64}]
    assert (editor.skip, editor.answers[0]["decision"]["length"]) == (None, 5)
    assert editor.answers[0]["note"] == "5 characters, 7 tokens, tau 1.75"


async def test_capabilities(editor: Editor) -> None:
    result = editor.initialized
    assert result.server_info is not None
    assert result.server_info.name == "dlsp"
    assert result.capabilities.inline_completion_provider is not None
    assert result.capabilities.position_encoding == types.PositionEncodingKind.Utf16


async def test_typing_on_keeps_the_anchor(editor: Editor, stub: StubEngine) -> None:
    await editor.suggestion(URI, 1, 11)
    editor.type(URI, 1, 11, "x")
    await editor.suggestion(URI, 1, 12)
    editor.type(URI, 0, 0, "# sums\n")
    await editor.suggestion(URI, 2, 12)
    gaps = [request["gaps"][0] for request in stub.asked]
    assert [gap["middle"] for gap in gaps] == ["", "x", ""]
    assert gaps[1]["prefix"] == gaps[0]["prefix"]
    assert gaps[2]["prefix"] == "# sums\ndef add(a, b):\n    return x"


async def test_the_newest_request_wins(editor: Editor, stub: StubEngine) -> None:
    stub.hold.set()
    older = editor.ask(URI, 1, 10)
    await until(lambda: len(stub.requests) == 1)
    newer = editor.ask(URI, 1, 11)
    assert not (await asyncio.wait_for(older, 30)).items
    await until(lambda: stub.dropped == stub.requests[:1])
    stub.hold.clear()
    assert len((await asyncio.wait_for(newer, 30)).items) == 1
    assert editor.answers[0]["skip"] == "stale"


async def test_other_documents_are_left_alone(editor: Editor, stub: StubEngine) -> None:
    editor.open("file:///project/other.py", "x = ")
    stub.hold.set()
    both = [editor.ask(URI, 1, 11), editor.ask("file:///project/other.py", 0, 4)]
    await until(lambda: len(stub.requests) == 2)
    stub.hold.clear()
    assert [len((await each).items) for each in both] == [1, 1]


async def test_an_edit_makes_a_request_stale(editor: Editor, stub: StubEngine) -> None:
    stub.hold.set()
    asked = editor.ask(URI, 1, 11)
    await until(lambda: stub.requests)
    editor.type(URI, 1, 11, "a")
    assert not (await asyncio.wait_for(asked, 30)).items
    await until(lambda: stub.dropped)


async def test_cancel(editor: Editor, stub: StubEngine) -> None:
    stub.hold.set()
    asked = editor.ask(URI, 1, 11, id="mine")
    await until(lambda: stub.requests)
    editor.cancel("mine")
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wait_for(asked, 30)
    assert error.value.code == types.LSPErrorCodes.RequestCancelled
    await until(lambda: stub.dropped)
    stub.hold.clear()
    assert await editor.suggestion(URI, 1, 11) is not None
    assert [each["skip"] for each in editor.answers] == [None], "who cancels has no answer"


async def test_answers_are_trimmed(editor: Editor, stub: StubEngine) -> None:
    editor.open("file:///project/b.py", "print() or 1\r\n\r\nx\r\n")
    stub.answer = lambda request: "total)"
    item = await editor.suggestion("file:///project/b.py", 0, 6)
    assert item is not None
    assert item.insert_text == "total"
    stub.answer = lambda request: "y = 1\nz = 2\nx\n"
    item = await editor.suggestion("file:///project/b.py", 1, 0)
    assert item is not None
    assert item.insert_text == "y = 1\r\nz = 2"
    assert stub.asked[-1]["end"] == "block"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("  \n", "empty"), ("return ", "repeat")],
)
async def test_quiet_about_nothing(editor: Editor, stub: StubEngine, answer: str, reason: str) -> None:
    editor.open("file:///project/c.py", "if a:\n    \n    return\n")
    stub.answer = lambda request: answer
    assert await editor.suggestion("file:///project/c.py", 1, 4) is None
    assert editor.skip == reason


async def test_quiet_about_unknown_places(editor: Editor, stub: StubEngine) -> None:
    assert await editor.suggestion("file:///project/closed.py", 0, 0) is None
    assert editor.skip == "unknown"
    assert await editor.suggestion(URI, 99, 0) is None
    assert editor.skip == "outside"
    assert stub.requests == []


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 11), ("utf-16", 9), ("utf-32", 8)])
async def test_position_encodings(running: object, stub: StubEngine, encoding: str, column: int) -> None:
    async with Editor(encoding=encoding) as editor:
        assert editor.initialized.capabilities.position_encoding == encoding
        editor.open(URI, 'x = "😋" \f\nsecond = \n')
        await editor.ready(URI)
        editor.type(URI, 0, column, "# typed")
        await editor.suggestion(URI, 1, 9)
    assert stub.requests[-1]["gaps"][0]["prefix"] == 'x = "😋" # typed\f\nsecond = '


async def test_a_column_beyond_the_line_means_its_end(editor: Editor) -> None:
    item = await editor.suggestion(URI, 1, 500)
    assert item is not None
    assert item.range == types.Range(types.Position(1, 11), types.Position(1, 11))


@pytest.mark.parametrize(
    "params",
    [
        {
            "textDocument": {"uri": URI},
            "position": {"line": 1, "character": 11},
            "context": {"triggerKind": 0},
        },
        {"textDocument": {"uri": URI}, "context": {"triggerKind": 1}},
        {"textDocument": URI, "position": [1, 11], "context": {}},
        None,
    ],
)
async def test_malformed_requests_are_answered(editor: Editor, params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": "odd", "method": "textDocument/inlineCompletion", "params": params}
    future = asyncio.get_running_loop().create_future()
    editor.client.protocol._request_futures["odd"] = future  # type: ignore[assignment]
    editor.client.protocol._send_data(message)
    with pytest.raises(JsonRpcException) as error:
        await asyncio.wait_for(future, 30)
    assert error.value.code == types.ErrorCodes.InvalidParams
    assert await editor.suggestion(URI, 1, 11) is not None, "it goes on serving"
    assert editor.shown == []


async def test_a_refusal_is_a_reason(editor: Editor, stub: StubEngine) -> None:
    stub.status, stub.raw = 400, b'{"error": "No gap was given."}'
    assert await editor.suggestion(URI, 1, 11) is None
    assert (editor.skip, editor.answers[-1]["note"]) == ("failed", "No gap was given.")


async def test_the_engine_goes_and_comes_back(editor: Editor, stub: StubEngine) -> None:
    stub.raw = b""  # it breaks off
    assert await editor.suggestion(URI, 1, 11) is None
    assert editor.skip == "failed"
    assert "broke off" in editor.answers[-1]["note"]
    stub.raw = None
    await editor.ready(URI)
    assert await editor.suggestion(URI, 1, 11) is not None


async def test_a_missing_model_is_reported_once(
    state_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLSP_CACHE_DIR", str(tmp_path / "empty"))
    async with Editor() as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        assert await editor.suggestion(URI, 1, 11) is None
        assert editor.skip == "missing"
        assert len(editor.shown) == 1
        assert "`dlsp model pull`" in editor.shown[0]
        assert [value["kind"] for value in editor.progress] == ["begin", "end"]


async def test_settings(running: object, stub: StubEngine) -> None:
    async with Editor(options={"model": "no-such", "mode": "diffusion", "modle": 1}) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        assert await editor.suggestion(URI, 1, 11) is not None
    assert stub.requests[-1]["mode"] == "diffusion"
    assert len(editor.shown) == 2
    assert "There is no setting 'modle'" in editor.shown[0]
    assert "no-such" in editor.shown[1]


async def indexed(editor: Editor, *folders: Path) -> bool:
    """Whether the indexes of these folders are kept and no others, each by a process of its own; waits for it."""
    assert editor.client._server is not None
    server = psutil.Process(editor.client._server.pid)
    wanted = sorted(str(store.place(folder)) for folder in folders)
    deadline = time.monotonic() + 60
    while sorted(open_indexes(server)) != wanted:
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


def open_indexes(server: psutil.Process) -> Iterator[str]:
    """The database that each index process has open; "" for one that has none yet."""
    for child in server.children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if "dlsp.index" in child.cmdline():
                yield next((file.path for file in child.open_files() if file.path.endswith(".sqlite")), "")


async def test_off_keeps_no_index(running: object, stub: StubEngine, tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    async with Editor(tmp_path, options={"suggest": {"python": "off"}}) as editor:
        editor.open(uri, TEXT)
        editor.type(uri, 1, 11, "a")
        assert await editor.suggestion(uri, 1, 12) is None
        closing = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        editor.client.text_document_did_close(closing)
        assert await editor.suggestion(uri, 1, 12) is None
        assert await indexed(editor)
        editor.configure({"dlsp": {"suggest": "auto"}})
        editor.open(uri, TEXT)
        await editor.suggestion(uri, 1, 11)
        assert await indexed(editor, tmp_path), "the setting applies without a restart"


async def test_the_index_no_longer_has_a_removed_folder(running: object, stub: StubEngine, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    async with Editor(folders=[one, two]) as editor:
        uris = [(folder / "a.py").as_uri() for folder in (one, two)]
        for uri in uris:
            editor.open(uri, TEXT)
            await editor.ready(uri)
        assert await indexed(editor, one, two)
        left = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(two.as_uri(), "two")])
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(left))
        assert await editor.suggestion(uris[1], 1, 11) is not None, "its document is one without a folder now"
        assert stub.asked[-1]["gaps"][0]["path"] == "a.py"
        assert await indexed(editor, one)


async def test_no_text_of_the_document_is_logged(running: object, stub: StubEngine) -> None:
    async with Editor() as editor:
        editor.open(URI, "hunter2 = \n")
        await editor.ready(URI)
        for answer in ("hunter2 + 1", " ", "hunter2"):
            stub.answer = lambda request, answer=answer: answer
            editor.open(URI, "hunter2 = \n")  # anew: nothing is recalled
            await editor.suggestion(URI, 0, 10)
        stub.raw = b'{"event": "fill", "gap": 0, "text": "hunter2"}\n{"event": "done"}\n'  # without a cost
        editor.open(URI, "hunter2 = \n")
        assert await editor.suggestion(URI, 0, 10) is None
        assert editor.skip == "failed"
        assert editor.answers[-1]["note"].startswith("KeyError in _take, line ")
    assert "hunter2" not in json.dumps([editor.log, editor.answers]) + editor.stderr


async def test_a_closed_pipe_ends_the_server(running: object) -> None:
    async with Editor() as editor:
        server = editor.client._server
        assert server is not None
        assert server.stdin is not None
        server.stdin.close()
        assert await asyncio.wait_for(server.wait(), 30) == 0


@pytest.mark.parametrize("name", ["untitled:Untitled-1", "file:///project/run", "file:///project/a.pyw"])
async def test_the_language_is_what_the_editor_says(editor: Editor, stub: StubEngine, name: str) -> None:
    """A document without a telling name has the syntax guard of its language."""
    stub.answer = lambda request: "b = = 1"
    editor.open(name, "def f():\n    \n")
    assert await editor.suggestion(name, 1, 4) is None
    assert editor.skip == "broken"


async def test_feedback_without_text_teaches_nothing(editor: Editor, running: Running, stub: StubEngine) -> None:
    assert await editor.suggestion(URI, 1, 11) is not None
    for item in (None, {}, {"insertText": None}, {"insertText": ""}):
        params = {"item": item, "acceptedLength": None}
        for what in ("didShow", "didPartiallyAccept", "didDismiss"):
            editor.client.protocol.notify(f"textDocument/{what}Completion", params)
    editor.client.protocol.notify("textDocument/didPartiallyAcceptCompletion", {"item": {"insertText": "a + b"}})
    assert await editor.suggestion(URI, 1, 11) is not None, "it goes on, and nothing was dismissed"


@pytest.mark.parametrize("answer", [None, [None], [], {}, 3, ["x", None, None, None]])
async def test_a_malformed_answer_about_settings_means_none(running: object, stub: StubEngine, answer: Any) -> None:
    class Malformed(Editor):
        def answered_settings(self, given: list[Any]) -> Any:
            return answer

    async with Malformed(Path("/project"), settings={}) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        assert await editor.suggestion(URI, 1, 11) is not None


async def test_a_document_behind_a_link_is_in_its_workspace(running: object, stub: StubEngine, tmp_path: Path) -> None:
    """As where the system does not tell cases apart, and the editor has another one than the workspace."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "src" / "a.py").write_text(TEXT)
    (tmp_path / "alias").symlink_to("project")
    uri = (tmp_path / "alias" / "src" / "a.py").as_uri()
    async with Editor(tmp_path / "project") as editor:
        editor.open(uri, TEXT)
        await editor.ready(uri)
        assert await editor.suggestion(uri, 1, 11) is not None
        assert stub.asked[-1]["gaps"][0]["path"] == "src/a.py"
