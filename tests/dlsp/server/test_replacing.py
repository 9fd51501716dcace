"""Suggestions that replace closing brackets and quotes behind the cursor: a real server, a stub engine."""

import asyncio
import json
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from tests.dlsp.editor import Editor, applied
from tests.dlsp.server.conftest import Running
from tests.dlsp.stub_engine import COST, StubEngine

URI = "file:///project/sum.py"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def stub(running: Running) -> StubEngine:
    running.stub.reset()
    return running.stub


@pytest_asyncio.fixture(loop_scope="module")
async def editor(running: Running, stub: StubEngine) -> Editor:
    running.editor.configure({"dlsp": {}})
    return running.editor


async def opened(editor: Editor, text: str) -> tuple[str, int, int]:
    """Open a document, in whose text `|` is the cursor: its text, and the cursor's place."""
    before, after = text.split("|")
    editor.open(URI, before + after)
    await editor.ready(URI)
    return before + after, before.count("\n"), len(before.rpartition("\n")[2])


@pytest.mark.parametrize(
    ("text", "answer", "accepted"),
    [
        ("def add(|)\n", "a, b):", "def add(a, b):\n"),
        ("x = max(len(|))\n", "a) + len(b))", "x = max(len(a) + len(b))\n"),
        ("x = max(len(|))\n", "each)", "x = max(len(each))\n"),
        ("x = '🙂' + d['|']  \n", "key'] + 1", "x = '🙂' + d['key'] + 1  \n"),
        ("x = sum(|)\n", "each\n    for each in b\n)", "x = sum(each\n    for each in b\n)\n"),
        ("x = sum(|)\n", "each", "x = sum(each)\n"),
        ("x = sum(|) + 1\n", "a, b) + 1", "x = sum(a, b) + 1\n"),
    ],
)
async def test_it_goes_on_behind_them(editor: Editor, stub: StubEngine, text: str, answer: str, accepted: str) -> None:
    stub.answer = lambda request: answer
    document, line, column = await opened(editor, text)
    units = column + document.count("🙂")
    item = await editor.suggestion(URI, line, units)
    assert item
    assert item.range
    assert item.range.start == types.Position(line, units)
    assert item.range.end.line == line
    assert applied(item, document, "utf-16") == accepted


async def test_the_model_sees_none_of_them(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "a, b):"
    _, line, column = await opened(editor, "def add(|)\n\nx = 1\n")
    await editor.suggestion(URI, line, column)
    assert stub.asked[-1]["gaps"][0]["suffix"] == "\n\nx = 1\n"


async def test_it_stays_while_it_is_typed_and_its_closer_typed_over(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "first, second):"
    _, line, column = await opened(editor, "def add(|)\n")
    assert await editor.suggestion(URI, line, column)
    count = len(stub.asked)
    editor.type(URI, line, column, "first, second")
    column += len("first, second")
    item = await editor.suggestion(URI, line, column)
    assert item
    assert item.range
    assert (item.insert_text, item.range.end.character) == ("):", column + 1)
    item = await editor.suggestion(URI, line, column + 1)
    assert item
    assert item.range
    assert (item.insert_text, item.range.start) == (":", item.range.end)
    assert len(stub.asked) == count


async def test_where_nothing_is_left_but_closers_it_is_quiet(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "first)"
    _, line, column = await opened(editor, "add(|)\n")
    assert await editor.suggestion(URI, line, column)
    editor.type(URI, line, column, "first")
    assert await editor.suggestion(URI, line, column + 5) is None
    assert editor.skip == "repeat"


async def test_what_follows_an_accepted_one_is_there(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "a, b):" if not request["gaps"][0]["middle"] else "\n    return a + b"
    _, line, column = await opened(editor, "def add(|)\n")
    assert await editor.suggestion(URI, line, column)
    await asyncio.to_thread(stub.wait_for, lambda it: any(each.get("priority") == "prefetch" for each in it.requests))
    editor.delete(URI, line, column, column + 1)
    editor.type(URI, line, column, "a, b):")
    editor.type(URI, line, column + 6, "\n    ")
    count = len(stub.asked)
    item = await editor.suggestion(URI, line + 1, 4)
    assert item
    assert item.insert_text == "return a + b"
    assert len(stub.asked) == count


async def test_one_that_replaces_is_known_as_accepted(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "a, b):"
    _, line, column = await opened(editor, "def add(|)\n")
    item = await editor.suggestion(URI, line, column)
    assert item
    assert item.range
    editor.versions[URI] += 1
    change = types.TextDocumentContentChangePartial(item.range, str(item.insert_text))
    document = types.VersionedTextDocumentIdentifier(editor.versions[URI], URI)
    editor.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
    await editor.suggestion(URI, line, column + 6)
    assert editor.answers[-1]["decision"]["features"]["accepted"] == 1


async def test_others_replace_them_too(editor: Editor, stub: StubEngine) -> None:
    fills = [
        {"event": "fill", "gap": 0, "text": text, "reason": "line", "cost": COST, "confidence": [[9, -1.0]]}
        for text in ("a, b):", "a) -> int:", "first")
    ]
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in [*fills, {"event": "done"}])
    document, line, column = await opened(editor, "def add(|)\n")
    params = {"textDocument": {"uri": URI}, "position": {"line": line, "character": column}}
    sent = editor.client.protocol.send_request_async("dlsp/alternatives", params)
    answer: Any = await asyncio.wait_for(sent, 30)
    items = [
        types.InlineCompletionItem(
            each.insertText,
            range=types.Range(
                types.Position(line, each.range.start.character), types.Position(line, each.range.end.character)
            ),
        )
        for each in answer.items
    ]
    texts = [applied(item, document, "utf-16") for item in items]
    assert texts == ["def add(a, b):\n", "def add(a) -> int:\n", "def add(first)\n"]
