"""The completion menu of an editor that asks for no ghost text: a real server, a stub engine."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from tests.dlsp.editor import Editor, applied
from tests.dlsp.server.conftest import Running
from tests.dlsp.stub_engine import StubEngine

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\n    return \n"
KEY = types.CompletionTriggerKind.Invoked
TRIGGER = types.CompletionTriggerKind.TriggerCharacter
NARROWED = types.CompletionTriggerKind.TriggerForIncompleteCompletions

EDITOR = {"ghosts": False, "name": "helix"}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def stub(running: Running) -> StubEngine:
    stub = running.stub
    stub.reset()
    return stub


@pytest_asyncio.fixture(loop_scope="module")
async def editor(running: Running, stub: StubEngine) -> Editor:
    editor = running.editor
    editor.configure({"dlsp": {}})
    editor.open(URI, TEXT)
    await editor.ready(URI)
    return editor


async def menu(
    editor: Editor, line: int, character: int, kind: types.CompletionTriggerKind | None = TRIGGER
) -> list[Any]:
    """The items; a list of some is to be asked for again."""
    here, document = types.Position(line, character), types.TextDocumentIdentifier(URI)
    params = types.CompletionParams(document, here, types.CompletionContext(kind) if kind else None)
    found = await asyncio.wait_for(editor.client.text_document_completion_async(params), 30)
    assert isinstance(found, types.CompletionList)
    assert found.is_incomplete == bool(found.items)
    return list(found.items)


def after(item: types.CompletionItem, text: str) -> str:
    """`text` with the item accepted."""
    edit = item.text_edit
    assert isinstance(edit, types.TextEdit)
    return applied(types.InlineCompletionItem(edit.new_text, range=edit.range), text, "utf-16")


async def test_it_is_offered_to_who_asks_for_no_ghost_text(editor: Editor) -> None:
    provider = editor.initialized.capabilities.completion_provider
    assert provider
    assert {".", "("} <= set(provider.trigger_characters or ())
    assert " " not in (provider.trigger_characters or ())
    # asyncomplete-lsp takes who is offered ghost text to ask for it, and puts it in place of the whole line.
    assert editor.initialized.capabilities.inline_completion_provider is None


async def test_who_asks_one_server_alone_may_do_so_after_a_blank(stub: StubEngine) -> None:
    async with Editor(ghosts=False, name="Eglot") as editor:
        provider = editor.initialized.capabilities.completion_provider
        assert provider
        assert {".", "(", " "} <= set(provider.trigger_characters or ())


async def test_who_asks_for_ghost_text_has_no_items_too(stub: StubEngine) -> None:
    async with Editor() as editor:
        assert editor.initialized.capabilities.completion_provider is None


async def test_a_capability_that_is_null_is_one(stub: StubEngine) -> None:
    """As lsp-mode names it."""
    editor = Editor()
    await editor.connect()
    params = {"capabilities": {"textDocument": {"inlineCompletion": None}}}
    answer = await editor.raw({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, 1)
    assert not hasattr(answer.capabilities, "completionProvider")
    await editor.__aexit__()


async def test_an_item(editor: Editor) -> None:
    (item,) = await menu(editor, 1, 11)
    assert (item.label, item.detail, item.filter_text, item.documentation) == ("a + b", "dlsp", "a + b", None)
    assert item.preselect
    assert item.kind == types.CompletionItemKind.Text
    assert after(item, TEXT) == "def add(a, b):\n    return a + b\n"


async def test_it_begins_with_the_word_that_is_typed(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "pha + b"
    text = TEXT.replace("return ", 'return "é😀", al')
    editor.open(URI, text)
    await menu(editor, 1, 20, KEY)
    (item,) = await menu(editor, 1, 20, KEY)
    assert item.label == item.filter_text == "alpha + b"
    assert item.text_edit.range == types.Range(types.Position(1, 18), types.Position(1, 20))
    assert after(item, text) == text.replace("al\n", "alpha + b\n")


async def test_several_lines_or_the_first(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "add(\n        a,\n    )"
    whole, line = await menu(editor, 1, 11, KEY)
    assert (whole.label, line.label) == ("add( … +2", "add(")
    assert (whole.filter_text, line.filter_text) == ("add(", "add(")
    assert whole.sort_text < line.sort_text
    assert whole.documentation == whole.text_edit.new_text == "add(\n        a,\n    )"
    assert line.text_edit.new_text == "add("


async def test_the_first_alone_where_several_were_not_seen_to_work(stub: StubEngine) -> None:
    stub.answer = lambda request: "add(\n        a,\n    )"
    async with Editor(Path("/project"), ghosts=False, name="vim-lsp") as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        (line,) = await menu(editor, 1, 11, KEY)
        stub.answer = lambda request: "\n    return a"
        assert await menu(editor, 0, 14, KEY) == []
    assert line.text_edit.new_text == line.label == "add("


async def test_a_long_line_is_cut_in_the_label_alone(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: " + ".join(["first_summand"] * 6)
    (item,) = await menu(editor, 1, 11, KEY)
    assert len(item.label) == 60
    assert item.label.endswith("…")
    assert item.documentation == item.text_edit.new_text == " + ".join(["first_summand"] * 6)


async def test_lines_end_as_the_document_has_them(editor: Editor, stub: StubEngine) -> None:
    editor.open(URI, TEXT.replace("\n", "\r\n"))
    stub.answer = lambda request: "add(\n        a,\n    )"
    whole, line = await menu(editor, 1, 11, KEY)
    assert (whole.label, line.label) == ("add( … +2", "add(")
    assert whole.text_edit.new_text == "add(\r\n        a,\r\n    )"
    assert line.text_edit.new_text == "add("


async def test_documentation_is_marked_up_where_that_is_read(stub: StubEngine) -> None:
    item = types.ClientCompletionItemOptions(documentation_format=[types.MarkupKind.Markdown])
    stub.answer = lambda request: 'add(\n        "```",\n    )'
    async with Editor(Path("/project"), ghosts=False, completion=item, name="helix") as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        whole, _ = await menu(editor, 1, 11, KEY)
    assert whole.documentation.value == '````python\nadd(\n        "```",\n    )\n````'


async def test_typing_is_no_key(editor: Editor) -> None:
    """The protocol has one kind of trigger for both."""
    editor.configure({"dlsp": {"suggest": "manual"}})
    editor.open(URI, f"c = d\n{TEXT}")
    assert await menu(editor, 2, 11, TRIGGER) == []
    editor.type(URI, 2, 11, "a")
    assert await menu(editor, 2, 12, KEY) == []
    (item,) = await menu(editor, 2, 12, KEY)  # the second time
    assert not item.preselect
    assert await menu(editor, 0, 5, KEY) == []
    assert len(await menu(editor, 0, 5, KEY)) == 1
    editor.type(URI, 2, 12, "+")
    assert len(await menu(editor, 2, 13, KEY)) == 1  # no word
    editor.type(URI, 2, 13, "a")
    (item,) = await menu(editor, 2, 14, NARROWED)
    assert item.text_edit.new_text == "a + b"
    editor.type(URI, 2, 14, " ")
    assert await menu(editor, 2, 15, TRIGGER) == []


async def test_an_editor_that_does_not_say_why_it_asks(editor: Editor) -> None:
    editor.configure({"dlsp": {"suggest": "manual"}})
    assert await menu(editor, 1, 11, None) == []
    assert len(await menu(editor, 1, 11, None)) == 1


async def test_other_servers_are_not_kept_waiting(editor: Editor, stub: StubEngine) -> None:
    stub.hold.set()
    async with asyncio.timeout(3):
        assert await menu(editor, 1, 11) == []
    assert (editor.skip, editor.answers[-1]["note"]) == ("slow", "")
    stub.hold.clear()
    (item,) = await menu(editor, 1, 11)
    assert item.label == "a + b"
    # The engine was left at work.
    assert len([each for each in stub.asked if each["gaps"][0]["prefix"].endswith("return ")]) == 1


async def test_off(editor: Editor) -> None:
    editor.configure({"dlsp": {"suggest": "off"}})
    assert await menu(editor, 1, 11, KEY) == []


async def test_nowhere(editor: Editor) -> None:
    assert await menu(editor, 99, 0, KEY) == []
    editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
    assert await menu(editor, 1, 11, KEY) == []


async def test_closers_behind_the_cursor_stay_there(editor: Editor, stub: StubEngine) -> None:
    """Not every editor replaces what stands behind the cursor by an item of a menu."""
    stub.answer = lambda request: "a, b):"
    editor.open(URI, "def add()\n")
    (item,) = await menu(editor, 0, 8)
    assert after(item, "def add()\n") == "def add(a, b)\n"
