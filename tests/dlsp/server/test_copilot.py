"""Clients of Copilot's language server: a real server process, asked as these clients ask."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tests.dlsp.editor import Editor, _plain
from tests.dlsp.server.conftest import Running
from tests.dlsp.stub_engine import COST

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\n    return \n"
EDITOR: dict[str, Any] = {
    "options": {
        "editorInfo": {"name": "Emacs", "version": "28.2"},
        "editorPluginInfo": {"name": "copilot.el", "version": "0.4.0"},
    }
}
DOC = {
    "uri": URI,
    "version": 1,
    "relativePath": "sum.py",
    "insertSpaces": True,
    "tabSize": 4,
    "indentSize": 4,
    "position": {"line": 1, "character": 11},
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module")
async def editor(running: Running) -> AsyncIterator[Editor]:
    """An editor with `URI` just opened, of one of Copilot's clients."""
    running.stub.reset()
    running.editor.open(URI, TEXT)
    await running.editor.ready(URI)
    yield running.editor


async def ask(editor: Editor, method: str, params: Any) -> Any:
    sent = editor.client.protocol.send_request_async(method, params)
    return _plain(await asyncio.wait_for(sent, 30))


async def ended(folder: Path) -> dict[str, Any]:
    """What the server counted, which it saves at its end."""
    return json.loads((folder / "accepts.json").read_text())


async def test_who_is_signed_in(editor: Editor) -> None:
    assert await ask(editor, "checkStatus", {}) == {"status": "OK", "user": "dlsp"}
    assert (await ask(editor, "signIn", {}))["status"] == "AlreadySignedIn"
    assert (await ask(editor, "signInInitiate", {"_": True}))["status"] == "AlreadySignedIn"
    assert (await ask(editor, "signInConfirm", {"userCode": "x"}))["user"] == "dlsp"
    assert (await ask(editor, "getVersion", {}))["version"]
    assert await ask(editor, "copilot/models", {}) == []
    assert editor.shown == [], "the client's own options are no settings of dlsp"


async def test_the_older_requests(editor: Editor, running: Running) -> None:
    answer = {"event": "fill", "gap": 0, "text": "a + b", "reason": "line", "cost": COST, "confidence": [[5, -0.01]]}
    running.stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    for method in ("getCompletions", "getCompletionsCycling"):
        params = {"doc": DOC, "textDocument": {"uri": URI, "version": 1}, "position": DOC["position"], "_": True}
        (found,) = (await ask(editor, method, params))["completions"]
        assert found["uuid"] == editor.answers[-1]["id"]
        assert (found["text"], found["displayText"], found["docVersion"]) == ("    return a + b", "a + b", 1)
        assert found["range"] == {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 11}}
        assert await ask(editor, "notifyShown", {"uuid": found["uuid"]}) == "OK"
    for stale in ({"version": 7}, {"uri": "file:///project/other.py"}):
        assert (await ask(editor, "getCompletions", {"doc": DOC | stale}))["completions"] == []
    assert await ask(editor, "notifyRejected", {"uuids": [found["uuid"], "unknown"]}) == "OK"
    assert (await ask(editor, "getCompletions", {"doc": DOC}))["completions"] == [], "it was dismissed"


async def test_closers_behind_the_cursor_are_replaced(editor: Editor, running: Running) -> None:
    running.stub.answer = lambda request: "a, b):"
    editor.open(URI, "def add()\n")
    place = {"version": 1, "position": {"line": 0, "character": 8}}
    (found,) = (await ask(editor, "getCompletions", {"doc": DOC | place}))["completions"]
    assert (found["text"], found["displayText"]) == ("def add(a, b):", "a, b):")
    assert found["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 9}}
    assert found["position"] == {"line": 0, "character": 8}


async def test_panels(editor: Editor) -> None:
    solutions: list[Any] = []
    done = asyncio.Event()

    @editor.client.feature("PanelSolution")
    def solution(params: Any) -> None:
        solutions.append(_plain(params))

    @editor.client.feature("PanelSolutionsDone")
    def finished(params: Any) -> None:
        done.set()

    assert await ask(editor, "getPanelCompletions", {"doc": DOC, "panelId": "p"}) == {"solutionCountTarget": 1}
    await asyncio.wait_for(done.wait(), 30)
    assert [(each["panelId"], each["completionText"]) for each in solutions] == [("p", "a + b")]
    place = {"textDocument": {"uri": URI}, "position": DOC["position"]}
    (item,) = (await ask(editor, "textDocument/copilotPanelCompletion", place))["items"]
    assert item["insertText"] == "a + b"


@pytest.mark.parametrize("params", [{}, {"doc": None}, {"doc": {"uri": 3}}, {"doc": DOC | {"position": {"line": -1}}}])
async def test_malformed_parameters_are_an_error(editor: Editor, params: Any) -> None:
    with pytest.raises(JsonRpcInvalidParams):
        await ask(editor, "getCompletions", params)


@pytest.mark.parametrize("way", ["command", "older", "in parts", "unknown"])
async def test_an_accepted_suggestion_counts_once(running: Running, way: str) -> None:
    running.stub.reset()
    (running.folder / "accepts.json").unlink(missing_ok=True)
    async with Editor(Path("/project"), **EDITOR) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        item = await editor.suggestion(URI, 1, 11)
        assert item
        assert item.command
        id = editor.answers[-1]["id"]
        assert (item.command.command, list(item.command.arguments or ())) == ("dlsp.didAcceptCompletion", [id])
        told = {"item": {"command": {"title": "Accept", "command": item.command.command, "arguments": [id]}}}
        editor.client.protocol.notify("textDocument/didShowCompletion", told)
        if way == "in parts":
            for length in (2, 4):
                partial = told | {"acceptedLength": length}
                editor.client.protocol.notify("textDocument/didPartiallyAcceptCompletion", partial)
        if way == "older":
            await ask(editor, "notifyAccepted", {"uuid": id, "acceptedLength": None})
        for _ in range(2):
            arguments = ["unknown"] if way == "unknown" else [id]
            run = types.ExecuteCommandParams(item.command.command, arguments)
            await asyncio.wait_for(editor.client.workspace_execute_command_async(run), 30)
    counts = list((await ended(running.folder)).values()) if (running.folder / "accepts.json").exists() else []
    assert counts == ([] if way == "unknown" else [[1, 5]])


async def test_other_clients_get_no_command(running: Running) -> None:
    """They report by notifications, or would run the command besides."""
    async with Editor(Path("/project")) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        item = await editor.suggestion(URI, 1, 11)
        assert item
        assert item.command is None
