"""`dlsp/fill`, its code action and its command, as an editor sees them: a real server, a stub engine."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from dlsp.server import params as read
from dlsp.server.features.fill import Fills
from tests.dlsp.editor import Editor
from tests.dlsp.server.conftest import Loading
from tests.dlsp.stub_engine import COST, StubEngine

URI = "file:///project/mean.py"
CANVAS = {"event": "canvas", "gap": 0, "committed": "return a", "canvas": [" + b", None]}
FILL = {"event": "fill", "gap": 0, "text": "return a + b\n", "reason": "body", "cost": COST}


def answer(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in (*events, {"event": "done"}))


@pytest_asyncio.fixture
async def editor(stub: StubEngine) -> AsyncIterator[Editor]:
    stub.raw = answer(CANVAS, FILL)
    async with Editor(Path("/project")) as editor:
        editor.open(URI, "# 🙂\r\ndef add(a, b): # 🙂\r\n    ...\r\n\r\nx = 1\r\n")
        await editor.ready(URI)
        stub.requests.clear()
        yield editor


def ask(editor: Editor, line: int, **more: Any) -> asyncio.Future[Any]:
    params = {"textDocument": {"uri": URI}, "position": {"line": line, "character": 0}, **more}
    return editor.client.protocol.send_request_async("dlsp/fill", params)


async def test_a_function(editor: Editor, stub: StubEngine) -> None:
    edit = await asyncio.wait_for(ask(editor, 2, partialResultToken="focus"), 30)
    assert edit.newText == "\r\n    return a + b"
    span = edit.range
    places = [(place.line, place.character) for place in (span.start, span.end)]
    assert places == [(1, len("def add(a, b): # ??")), (2, 7)]
    (partial,) = [value for value in editor.progress if hasattr(value, "committed") or "committed" in str(value)]
    seen = partial if isinstance(partial, dict) else partial._asdict()
    assert seen["committed"] == "\n    return a"
    assert list(seen["canvas"]) == [" + b", None]
    (request,) = stub.requests
    assert (request["end"], request["priority"]) == ("body", "filling")
    gap = request["gaps"][0]
    assert (gap["prefix"], gap["suffix"]) == ("# 🙂\ndef add(a, b): # 🙂\n    ", "")


async def test_a_selection_of_one_character_is_a_cursor(editor: Editor) -> None:
    """As Helix has it in its normal mode; the line that it is on is not to be written anew."""
    editor.type(URI, 2, 0, "    c = a\r\n")
    span = {"start": {"line": 2, "character": 4}, "end": {"line": 2, "character": 5}}
    with pytest.raises(JsonRpcException, match="without a body"):
        await asyncio.wait_for(ask(editor, 2, range=span), 30)
    span["end"]["character"] = 9
    edit = await asyncio.wait_for(ask(editor, 2, range=span), 30)
    assert edit.newText == "\r\n    return a + b"
    editor.type(URI, 3, 7, "\r\n\r\n")
    span = {"start": {"line": 4, "character": 0}, "end": {"line": 5, "character": 0}}  # on an empty line
    with pytest.raises(JsonRpcException, match="without a body"):
        await asyncio.wait_for(ask(editor, 4, range=span), 30)


async def test_no_function(editor: Editor) -> None:
    with pytest.raises(JsonRpcException, match="without a body"):
        await asyncio.wait_for(ask(editor, 4), 30)


async def test_a_document_that_is_not_open_is_a_refusal_and_no_error(editor: Editor) -> None:
    place = {"line": 0, "character": 0}
    params = types.ExecuteCommandParams("dlsp.fill", ["file:///project/closed.py", place])
    with pytest.raises(JsonRpcException, match="not in an open document"):
        await asyncio.wait_for(editor.client.workspace_execute_command_async(params), 30)
    with pytest.raises(JsonRpcException, match="without a body"):
        await asyncio.wait_for(ask(editor, 4), 30)  # the log of the first comes before
    assert "refused: The function is not in an open document." in editor.log


async def test_nothing_to_fill_in(editor: Editor, stub: StubEngine) -> None:
    stub.raw = answer({**FILL, "text": " \n"})
    with pytest.raises(JsonRpcException, match="nothing to fill in"):
        await asyncio.wait_for(ask(editor, 2), 30)


async def test_a_stub_is_drawn_again(editor: Editor, stub: StubEngine) -> None:
    stub.raw = None
    stub.answer = lambda request: "return a + b" if request.get("seed") else "pass"
    edit = await asyncio.wait_for(ask(editor, 2), 30)
    assert edit.newText == "\r\n    return a + b"
    stub.answer = lambda request: "pass"
    with pytest.raises(JsonRpcException, match="found no body"):
        await asyncio.wait_for(ask(editor, 2), 30)


async def test_cancel(editor: Editor, stub: StubEngine) -> None:
    stub.hold.set()
    params = {"textDocument": {"uri": URI}, "position": {"line": 2, "character": 0}}
    asked = editor.client.protocol.send_request_async("dlsp/fill", params, "fill")
    async with asyncio.timeout(30):
        while not stub.requests:
            await asyncio.sleep(0.01)
        editor.cancel("fill")
        with pytest.raises(JsonRpcException):
            await asked
        while not stub.dropped:
            await asyncio.sleep(0.01)


async def test_it_waits_for_an_engine_that_loads(loading: Loading) -> None:
    """Who stops waiting does not stop the loading."""
    app = loading.app
    app.server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, "def add(a, b):\n    ...\n"))
    fills = Fills(app.session, app.engines, app.tasks)

    def ask() -> asyncio.Task[dict[str, Any]]:
        return asyncio.create_task(fills.fill(read.Fill(read.Document(URI), read.Position(1, 4))))

    left = ask()
    await loading.begun.wait()
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    asked = ask()
    await asyncio.sleep(0.01)
    assert not asked.done()
    loading.stub.raw = answer(FILL)
    loading.loaded.set()
    assert (await asked)["newText"] == "\n    return a + b"


async def test_code_actions(editor: Editor) -> None:
    def actions(line: int) -> Any:
        here = types.Position(line, 0)
        return editor.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(URI), types.Range(here, here), types.CodeActionContext([])
            )
        )

    (action,) = await asyncio.wait_for(actions(2), 30) or []
    assert action.title == "Fill function"
    assert "dlsp.fill" in str(action.command)  # lsprotocol takes an action with a command for a command
    assert URI in str(action.command)
    assert not await asyncio.wait_for(actions(4), 30)
