"""Requests that are being answered while something else happens: a shutdown, a close, a change, another request."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.dlsp.editor import Editor
from tests.dlsp.stub_engine import StubEngine

TEXT = "def add(a, b):\n    ...\n\n\ndef late_fee(days):\n    return days\n\n\nadd(late_fee(1))\n"
BODY = {"line": 1, "character": 4}
WHOLE = {"start": {"line": 0, "character": 0}, "end": {"line": 2, "character": 0}}


@pytest_asyncio.fixture
async def editor(tmp_path: Path, stub: StubEngine) -> AsyncIterator[Editor]:
    (tmp_path / "sum.py").write_text(TEXT)
    async with Editor(tmp_path) as editor:
        editor.open(uri(editor), TEXT)
        await editor.ready(uri(editor))
        stub.requests.clear()
        stub.hold.set()
        yield editor
        stub.hold.clear()


def uri(editor: Editor) -> str:
    assert editor.folder
    return (editor.folder / "sum.py").as_uri()


def send(editor: Editor, method: str, **params: Any) -> "asyncio.Future[Any]":
    document = {"textDocument": {"uri": uri(editor), "version": editor.versions[uri(editor)]}}
    return editor.client.protocol.send_request_async(method, document | params)


def command(editor: Editor, name: str, *arguments: Any) -> "asyncio.Future[Any]":
    params = types.ExecuteCommandParams(name, [uri(editor), *arguments])
    return editor.client.protocol.send_request_async(types.WORKSPACE_EXECUTE_COMMAND, params)


KINDS: dict[str, Any] = {
    "completion": lambda editor: editor.ask(uri(editor), 8, 16),
    "fill": lambda editor: send(editor, "dlsp/fill", position=BODY),
    "fill command": lambda editor: command(editor, "dlsp.fill", BODY),
    "instruct": lambda editor: send(editor, "dlsp/rewrite", range=WHOLE, instruction="subtract"),
}


async def working(editor: Editor, stub: StubEngine, kind: str) -> "asyncio.Future[Any]":
    """A request of this kind that the engine is at work on."""
    asked = KINDS[kind](editor)
    await asyncio.to_thread(stub.wait_for, lambda it: it.requests)
    return asked


async def dropped(stub: StubEngine) -> None:
    """Until the engine knows that nobody wants its answer."""
    await asyncio.to_thread(stub.wait_for, lambda it: it.dropped)


@pytest.mark.parametrize("kind", KINDS)
async def test_shutdown(editor: Editor, stub: StubEngine, kind: str) -> None:
    asked = await working(editor, stub, kind)
    await asyncio.wait_for(editor.client.shutdown_async(None), 30)
    (answer,) = await asyncio.wait_for(asyncio.gather(asked, return_exceptions=True), 30)
    assert isinstance(answer, JsonRpcException) or not getattr(answer, "items", None)
    await dropped(stub)
    editor.client.exit(None)
    assert editor.client._server is not None
    assert await asyncio.wait_for(editor.client._server.wait(), 30) == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_the_document_is_closed(editor: Editor, stub: StubEngine, kind: str) -> None:
    asked = await working(editor, stub, kind)
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri(editor))))
    await dropped(stub)
    if kind == "completion":
        assert not (await asyncio.wait_for(asked, 30)).items
    else:
        with pytest.raises(JsonRpcException, match="closed"):
            await asyncio.wait_for(asked, 30)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_document_is_changed(editor: Editor, stub: StubEngine, kind: str) -> None:
    asked = await working(editor, stub, kind)
    editor.type(uri(editor), 8, 0, "x = ")
    await dropped(stub)
    if kind == "completion":
        assert not (await asyncio.wait_for(asked, 30)).items
    else:
        with pytest.raises(JsonRpcException, match="document has changed"):
            await asyncio.wait_for(asked, 30)


async def test_an_editor_may_show_a_fill_where_it_is_written(editor: Editor, stub: StubEngine) -> None:
    """VS Code writes into the document what comes, replacing it as more does."""
    asked = await working(editor, stub, "fill")
    shown = ""
    for text in ("\n    retu", "\n    return a\n    # mo", "\n    return a +"):
        start, lines = types.Position(0, 14), (shown or "\n    ...").split("\n")
        end = types.Position(len(lines) - 1, len(lines[-1]))
        editor.versions[uri(editor)] += 1
        editor.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(editor.versions[uri(editor)], uri(editor)),
                [types.TextDocumentContentChangePartial(types.Range(start, end), text)],
            )
        )
        shown = text
    stub.hold.clear()
    assert (await asyncio.wait_for(asked, 30)).newText
    assert stub.dropped == []


@pytest.mark.parametrize("other", ["edits", "copilot", "code actions"])
async def test_other_features_leave_an_instruction_alone(editor: Editor, stub: StubEngine, other: str) -> None:
    asked = await working(editor, stub, "instruct")
    if other == "edits":
        await asyncio.wait_for(send(editor, "dlsp/edits"), 30)
    elif other == "copilot":
        await asyncio.wait_for(send(editor, "textDocument/copilotInlineEdit", position=BODY), 30)
    else:
        here = types.Range(types.Position(1, 4), types.Position(1, 4))
        context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri(editor)), here, context)
        await asyncio.wait_for(editor.client.text_document_code_action_async(params), 30)
    assert not asked.done()
    assert stub.dropped == []


async def test_a_newer_instruction_ends_the_older(editor: Editor, stub: StubEngine) -> None:
    older = await working(editor, stub, "instruct")
    KINDS["instruct"](editor).add_done_callback(lambda asked: asked.cancelled() or asked.exception())
    with pytest.raises(JsonRpcException, match="newer request"):
        await asyncio.wait_for(older, 30)


async def test_a_fill_is_busy(editor: Editor, stub: StubEngine) -> None:
    asked = await working(editor, stub, "fill")
    async with asyncio.timeout(30):
        while not (editor.statuses and editor.statuses[-1].busy):
            await asyncio.sleep(0.01)
    stub.hold.clear()
    assert (await asyncio.wait_for(asked, 30)).newText
