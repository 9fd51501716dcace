"""Suggestions while one types, as an editor sees them: a real server, a stub engine."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.uris import to_fs_path

from dlsp import cli
from dlsp.completions.gate.gate import MAX_KEYS_OVER
from tests.dlsp.editor import Editor
from tests.dlsp.server.conftest import Running
from tests.dlsp.stub_engine import COST, StubEngine

URI = "file:///project/sum.py"
LATER = "file:///project/later.py"
TEXT = "def add(a, b):\n    return \n"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def stub(running: Running) -> StubEngine:
    stub = running.stub
    stub.reset()
    return stub


@pytest_asyncio.fixture(loop_scope="module")
async def editor(running: Running, stub: StubEngine) -> Editor:
    """An editor with `URI` just opened, that has asked at its start."""
    editor = running.editor
    editor.configure({"dlsp": {}})
    editor.open(URI, TEXT)
    await editor.ready(URI)
    await settled(editor, stub)
    stub.requests.clear()
    editor.answers.clear()
    return editor


async def settled(editor: Editor, stub: StubEngine) -> None:
    """Until the server has done whatever it does by itself after what it was told: what it does last, the reading of a
    prompt, was begun in another document later, and has reached the engine."""
    answers = len(editor.answers)
    editor.open(LATER, TEXT)
    assert await editor.suggestion(LATER, 0, 5) is None
    assert editor.skip == "midword"
    await asyncio.to_thread(stub.wait_for, lambda it: any(is_later(each) for each in it.requests))
    stub.requests[:] = [each for each in stub.requests if not is_later(each)]
    del editor.answers[answers:]


def is_later(request: dict[str, Any]) -> bool:
    return any(gap["session"] == LATER for gap in request.get("gaps", ()))


def asked(stub: StubEngine) -> list[dict[str, Any]]:
    return [each["gaps"][0] for each in stub.asked]


def ahead(stub: StubEngine) -> list[dict[str, Any]]:
    return [each["gaps"][0] for each in stub.requests if each.get("priority") == "prefetch"]


async def text(editor: Editor, line: int, character: int) -> str | None:
    item = await editor.suggestion(URI, line, character)
    return str(item.insert_text) if item else None


async def invoked(editor: Editor, line: int, character: int) -> list[Any]:
    params = types.InlineCompletionParams(
        types.InlineCompletionContext(types.InlineCompletionTriggerKind.Invoked),
        types.TextDocumentIdentifier(URI),
        types.Position(line, character),
    )
    answer = editor.client.protocol.send_request_async(types.TEXT_DOCUMENT_INLINE_COMPLETION, params)
    return list((await asyncio.wait_for(answer, 30)).items)


async def test_it_shrinks_with_typing_and_grows_with_backspace(editor: Editor, stub: StubEngine) -> None:
    assert await text(editor, 1, 11) == "a + b"
    editor.type(URI, 1, 11, "a")
    assert await text(editor, 1, 12) == " + b"
    editor.type(URI, 1, 12, " +")
    assert await text(editor, 1, 14) == " b"
    editor.delete(URI, 1, 12, 14)
    assert await text(editor, 1, 12) == " + b"
    editor.delete(URI, 1, 11, 12)
    assert await text(editor, 1, 11) == "a + b"
    assert len(asked(stub)) == 1
    assert all(each["decision"]["memory"] for each in editor.answers[1:])


async def test_what_is_typed_over_for_long_goes_until_it_is_asked_for(editor: Editor, stub: StubEngine) -> None:
    line = "compute_all_totals(first, second)"
    stub.answer = lambda request: line
    column = 11

    async def after(*texts: str) -> str | None:
        nonlocal column
        shown = None
        for each in texts:
            editor.type(URI, 1, column, each)
            column += len(each)
            shown = await text(editor, 1, column)
        return shown

    assert await text(editor, 1, column) == line
    assert await after(*line[:MAX_KEYS_OVER]) == line[MAX_KEYS_OVER:]
    for key in line[MAX_KEYS_OVER:10]:
        assert await after(key) is None
        assert editor.skip == "typed"
    assert [each.insert_text for each in await invoked(editor, 1, column)] == [line[10:]]
    assert await after(line[10]) == line[11:]
    assert await after(line[11:19]) == line[19:]
    assert await after(*line[19 : 19 + MAX_KEYS_OVER]) == line[19 + MAX_KEYS_OVER :], "what was accepted does not count"
    assert await after(line[19 + MAX_KEYS_OVER]) is None
    assert len(asked(stub)) == 1


async def test_keys_at_which_nothing_was_shown_do_not_count(editor: Editor, stub: StubEngine) -> None:
    editor.configure({"dlsp": {"suggest": "eager"}})
    confidence = [[8, -0.001], [2, -9.0], [1, -0.001], [5, -0.001]]
    answer = {"event": "fill", "gap": 0, "text": "alphabet - betas", "reason": "line", "cost": COST}
    answer |= {"confidence": confidence}
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    assert await text(editor, 1, 11) == "alphabet"
    shown: list[str | None] = []
    for at, key in enumerate("alphabet -"):
        editor.type(URI, 1, 11 + at, key)
        shown.append(await text(editor, 1, 12 + at))
    assert shown[6:] == ["t", None, None, " betas"]
    assert len(asked(stub)) == 1


async def test_brackets_that_close_themselves(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "sum((a, b))"
    assert await text(editor, 1, 11) == "sum((a, b))"
    editor.type(URI, 1, 11, "sum")
    editor.type(URI, 1, 14, "()")
    assert await text(editor, 1, 15) == "(a, b))", "its last bracket replaces the one behind the cursor"
    assert len(asked(stub)) == 1
    editor.type(URI, 1, 15, "x")  # another text: the anchor stays, for all the bracket behind the cursor
    await text(editor, 1, 16)
    assert asked(stub)[-1]["middle"] == "sum(x"
    assert asked(stub)[-1]["suffix"] == asked(stub)[0]["suffix"]


async def test_enter_between_brackets_goes_on_where_the_cursor_is(editor: Editor, stub: StubEngine) -> None:
    answer = "x = {\n        1: a,\n    }\n    return x"
    stub.answer = lambda request: answer
    editor.open(URI, "def f(a):\n    \n")
    assert await text(editor, 1, 4) == answer
    editor.type(URI, 1, 4, "x = ")
    editor.type(URI, 1, 8, "{}")
    assert await text(editor, 1, 9) is None
    assert editor.skip == "newline"
    await settled(editor, stub)
    count = len(stub.requests)
    editor.type(URI, 1, 9, "\n        \n    ")
    await settled(editor, stub)
    assert len(stub.requests) == count, "nothing is asked at the bracket's line"
    assert await text(editor, 2, 8) == "1: a,"
    assert editor.answers[-1]["decision"]["memory"]


async def test_after_an_accept_the_next_one_is_there(editor: Editor, stub: StubEngine) -> None:
    stub.answer = lambda request: "a + b" if not request["gaps"][0]["middle"] else "\n\nprint(add(1, 2))"
    assert await text(editor, 1, 11) == "a + b"
    await asyncio.to_thread(stub.wait_for, lambda it: ahead(it))
    assert ahead(stub)[0]["middle"] == "a + b"
    await settled(editor, stub)
    editor.type(URI, 1, 11, "a + b")
    assert await text(editor, 1, 16) is None
    assert editor.skip == "newline"
    editor.type(URI, 1, 16, "\n\n")
    assert await text(editor, 3, 0) == "print(add(1, 2))"
    assert editor.answers[-1]["decision"]["memory"]
    assert len(asked(stub)) == 1


async def test_the_first_lines_are_shown_while_the_others_are_written(editor: Editor, stub: StubEngine) -> None:
    canvas = {"event": "canvas", "gap": 0, "committed": "x = a\n    y = ", "canvas": [None]}
    fill = {"event": "fill", "gap": 0, "text": "x = a\n    y = b\n    return x", "reason": "block", "cost": COST}
    editor.open(URI, "def add(a, b):\n    \n")
    stub.raw = json.dumps(canvas).encode() + b"\n"
    stub.more.set()
    assert await text(editor, 1, 4) == "x = a"
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (fill, {"event": "done"}))
    stub.more.clear()
    editor.type(URI, 1, 4, "x = a")
    assert await text(editor, 1, 9) is None
    editor.type(URI, 1, 9, "\n    ")
    assert await text(editor, 2, 4) == "y = b\n    return x"
    assert len(asked(stub)) == 1


async def test_where_the_first_lines_are_none_to_show_the_others_are_waited_for(
    editor: Editor, stub: StubEngine
) -> None:
    whole = "@property\n    def f(self):\n        pass"
    canvas = {"event": "canvas", "gap": 0, "committed": "@property\n    def", "canvas": [None]}
    fill = {"event": "fill", "gap": 0, "text": whole, "reason": "block", "cost": COST}
    editor.open(URI, "class A:\n    \n\n    @property\n    def g(self):\n        pass\n")
    stub.raw = json.dumps(canvas).encode() + b"\n"
    stub.more.set()
    shown = asyncio.create_task(text(editor, 1, 4))
    await asyncio.to_thread(stub.wait_for, lambda it: asked(it))
    await settled(editor, stub)  # takes longer than the first lines alone would be waited for
    assert not shown.done()
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (fill, {"event": "done"}))
    stub.more.clear()
    assert await shown == whole


async def test_after_a_deletion_nothing_comes_unasked(editor: Editor, stub: StubEngine) -> None:
    editor.delete(URI, 1, 10, 11)
    assert await text(editor, 1, 10) is None
    assert editor.skip == "deleted"
    assert asked(stub) == []
    assert len(await invoked(editor, 1, 10)) == 1


async def test_the_prompt_is_read_while_the_cursor_rests(editor: Editor, stub: StubEngine) -> None:
    await text(editor, 0, 4)
    await settled(editor, stub)
    stub.requests.clear()
    editor.delete(URI, 1, 10, 11)
    assert await text(editor, 1, 10) is None
    await asyncio.to_thread(stub.wait_for, lambda it: ahead(it))
    (read,) = [each for each in stub.requests if "gaps" in each]
    assert (read["priority"], read["max_tokens"]) == ("prefetch", 1)
    editor.type(URI, 1, 10, " ")
    assert await text(editor, 1, 11) == "a + b"
    assert asked(stub)[-1]["prefix"] == ahead(stub)[0]["prefix"]


async def test_typing_is_asked_ahead_of_the_question(editor: Editor, stub: StubEngine) -> None:
    await text(editor, 1, 11)
    await settled(editor, stub)
    stub.requests.clear()
    editor.type(URI, 1, 11, "x")
    await asyncio.to_thread(stub.wait_for, lambda it: asked(it))
    stub.answer = lambda request: "never asked"
    assert await text(editor, 1, 12) == "a + b"
    assert len(asked(stub)) == 1


async def test_an_edit_elsewhere_is_seen_where_typing_goes_on(stub: StubEngine, tmp_path: Path) -> None:
    """The signature that was just changed is what the call needs."""
    (tmp_path / "total.py").write_text("def total(items):\n    pass\n")
    (tmp_path / "sum.py").write_text(TEXT)
    total, here = ((tmp_path / name).as_uri() for name in ("total.py", "sum.py"))
    async with Editor(tmp_path) as editor:
        for uri in (total, here):
            editor.open(uri, Path(to_fs_path(uri) or "").read_text())
            await editor.ready(uri)
        await editor.suggestion(here, 1, 11)
        editor.type(total, 0, 15, ", tax")
        await editor.suggestion(here, 1, 11)
        assert not editor.answers[-1]["decision"]["memory"]
        editor.type(here, 1, 11, "y")
        await editor.suggestion(here, 1, 12)
    first, second = [each for each in stub.asked if each["gaps"][0]["session"] == here][-2:]
    assert "def total(items, tax):" in first["files"][0]["text"]
    assert (first["gaps"][0]["middle"], second["gaps"][0]["middle"]) == ("", "y"), "typing on keeps the prompt"


async def test_who_does_not_ask_is_left_alone(editor: Editor, stub: StubEngine) -> None:
    """As an editor with suggestions switched off; off means no work at all."""
    editor.open(URI, TEXT)
    for column in range(8):
        editor.type(URI, 1, 11 + column, "x")
        if column % 4 == 3:
            await settled(editor, stub)
    assert [each for each in stub.requests if "gaps" in each] == []


@pytest.mark.parametrize(("suggest", "reason"), [("off", "off"), ({"python": "manual"}, "manual")])
async def test_off_and_manual(editor: Editor, stub: StubEngine, suggest: Any, reason: str) -> None:
    editor.configure({"dlsp": {"suggest": suggest}})
    for column in (11, 12, 13):
        assert await text(editor, 1, column - 2) is None
        assert editor.skip == reason
        editor.type(URI, 1, column, "x")
    editor.configure({"dlsp": {}})
    await settled(editor, stub)
    assert [each for each in stub.requests if "gaps" in each] == []
    editor.configure({"dlsp": {"suggest": suggest}})
    assert len(await invoked(editor, 1, 11)) == (suggest != "off")


@pytest.mark.parametrize("suggest", ["manual", {"*": "off", "python": "manual"}])
async def test_by_a_key_alone_it_comes_sure_or_not(editor: Editor, stub: StubEngine, suggest: Any) -> None:
    editor.configure({"dlsp": {"suggest": suggest}})
    answer = {"event": "fill", "gap": 0, "text": "a + b", "reason": "line", "cost": COST, "confidence": [[5, -9.0]]}
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    assert [each.insert_text for each in await invoked(editor, 1, 11)] == ["a + b"]


async def test_in_an_empty_file_it_is_quiet_until_asked_by_a_key(editor: Editor, stub: StubEngine) -> None:
    editor.open(URI, "")
    assert await text(editor, 0, 0) is None
    assert editor.skip == "blank"
    assert asked(stub) == []
    assert [each.insert_text for each in await invoked(editor, 0, 0)] == ["a + b"]
    assert asked(stub)[0]["path"] == "sum.py"


async def test_snooze(editor: Editor, stub: StubEngine) -> None:
    async def snooze(minutes: float) -> None:
        params = types.ExecuteCommandParams("dlsp.snooze", [minutes])
        await asyncio.wait_for(editor.client.workspace_execute_command_async(params), 30)

    await snooze(5)
    assert await text(editor, 1, 11) is None
    assert editor.skip == "snoozed"
    assert asked(stub) == []
    await snooze(0)
    assert await text(editor, 1, 11) == "a + b"


async def test_what_was_dismissed_does_not_come_back_on_its_line(editor: Editor, stub: StubEngine) -> None:
    answer = {"event": "fill", "gap": 0, "text": "a + b", "reason": "line", "cost": COST, "confidence": [[5, -0.01]]}
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    assert await text(editor, 1, 11) == "a + b"
    editor.client.protocol.notify("textDocument/didShowCompletion", {"item": {"insertText": "a + b"}})
    editor.client.protocol.notify("textDocument/didDismissCompletion", {"item": {"insertText": "a + b"}})
    editor.type(URI, 1, 11, "a")
    assert await text(editor, 1, 12) is None
    assert editor.skip == "dismissed"
    assert len(await invoked(editor, 1, 12)) == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_lines_that_were_dismissed_do_not_come_back(editor: Editor, stub: StubEngine, ending: str) -> None:
    lines = "if a:\n        return b\n    return a"
    answer = {"event": "fill", "gap": 0, "text": lines, "reason": "block", "cost": COST}
    answer["confidence"] = [[1, -0.001]] * len(lines)
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    editor.open(URI, f"def add(a, b):{ending}    {ending}")
    offered = await text(editor, 1, 4)
    assert offered == lines.replace("\n", ending)
    for what in ("Show", "Dismiss"):
        editor.client.protocol.notify(f"textDocument/did{what}Completion", {"item": {"insertText": offered}})
    assert await text(editor, 1, 4) is None
    assert editor.skip == "dismissed"


async def test_one_that_is_not_sure_is_not_shown(editor: Editor, stub: StubEngine) -> None:
    answer = {"event": "fill", "gap": 0, "text": "a + b", "reason": "line", "cost": COST, "confidence": [[5, -9.0]]}
    stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))
    assert await text(editor, 1, 11) is None
    assert editor.skip == "unsure"


def partly_sure() -> bytes:
    """An answer that the model is sure of up to the `+`."""
    answer = {"event": "fill", "gap": 0, "text": "ompute(item) + wrong", "reason": "line", "cost": COST}
    answer |= {"confidence": [[6, -0.001], [1, -0.001], [4, -0.001], [1, -0.001], [8, -9.0]]}
    return b"".join(json.dumps(each).encode() + b"\n" for each in (answer, {"event": "done"}))


async def test_of_a_line_that_is_not_sure_the_sure_part_is_shown(editor: Editor, stub: StubEngine) -> None:
    stub.raw = partly_sure()
    editor.type(URI, 1, 11, "c")
    assert await text(editor, 1, 12) == "ompute(item)"
    assert [each.insert_text for each in await invoked(editor, 1, 12)] == ["ompute(item) + wrong"], (
        "who asks by a key gets all of it"
    )
    editor.type(URI, 1, 12, "omp")
    assert await text(editor, 1, 15) == "ute(item) + wrong", "what is on the screen stays there"
    assert len(asked(stub)) == 1


async def test_behind_the_sure_part_it_is_quiet(editor: Editor, stub: StubEngine) -> None:
    stub.raw = partly_sure()
    editor.type(URI, 1, 11, "c")
    assert await text(editor, 1, 12) == "ompute(item)"
    editor.type(URI, 1, 12, "omp")
    assert await text(editor, 1, 15) == "ute(item)"
    editor.type(URI, 1, 15, "ute(item)")
    assert await text(editor, 1, 24) is None
    assert editor.skip == "unsure"
    assert len(asked(stub)) == 1


async def test_a_part_that_was_dismissed_does_not_come_back_on_its_line(editor: Editor, stub: StubEngine) -> None:
    stub.raw = partly_sure()
    editor.type(URI, 1, 11, "c")
    assert await text(editor, 1, 12) == "ompute(item)"
    for what in ("Show", "Dismiss"):
        editor.client.protocol.notify(f"textDocument/did{what}Completion", {"item": {"insertText": "ompute(item)"}})
    editor.type(URI, 1, 12, "o")
    assert await text(editor, 1, 13) is None
    assert editor.skip == "dismissed"


def decisions(folder: Path, is_last: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """What is written down, once the last of it is what is waited for."""
    file, deadline = folder / "decisions.jsonl", time.monotonic() + 30
    while True:
        written = [json.loads(line) for line in (file.read_text() if file.exists() else "").splitlines()]
        if written and is_last(written[-1]):
            return written
        assert time.monotonic() < deadline, "the decision was not written down"
        time.sleep(0.01)


async def test_every_silence_is_written_down(
    editor: Editor, stub: StubEngine, running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    editor.open(URI, "hunter2 = \n")
    await text(editor, 0, 10)
    editor.delete(URI, 0, 9, 10)
    await text(editor, 0, 9)
    written = await asyncio.to_thread(
        decisions, running.folder, lambda last: last["version"] == 2 and last["line"] == 0
    )
    shown, deleted = written[-2:]
    assert {**deleted, "time": None} == {**editor.answers[-1]["decision"], "time": None}
    assert (shown["quiet"], shown["length"], shown["language"]) == (None, 5, "python")
    assert (deleted["quiet"], deleted["version"], deleted["line"]) == ("deleted", 2, 0)
    assert deleted["features"]["deleted"] == 1
    assert "hunter2" not in json.dumps(written)
    assert cli.main(["doctor", "--last", "2"]) == 0
    told = capsys.readouterr().out
    assert "python, line 1: a suggestion of 5 characters from the engine" in told
    assert "quiet: something was just deleted" in told
