"""What the editor's other language servers say, asked through the editor by a real server process."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from dlsp.server.features.other_servers import AGAIN_S
from tests.dlsp.editor import Editor
from tests.dlsp.server.conftest import Running

pytestmark = pytest.mark.asyncio(loop_scope="module")

URI = "file:///project/fees.py"
TEXT = "def total(client):\n    \n    return x\n"
OPTIONS = {"suggest": "eager"}
HOVER = "```python\n(parameter) client: Client\n```"
COMMENT = "    # client: Client\n"


class Asking(Editor):
    """With types in the context, which the server leaves out as it ships."""

    command = (sys.executable, "-m", "bench.replay.serve", "--without=siblings+diagnostics")


async def asked(editor: Editor, count: int) -> None:
    async with asyncio.timeout(30):
        while len(editor.questions) < count:
            await asyncio.sleep(0.01)


def prompts(running: Running) -> list[str]:
    """What stood before the cursor in each request to the engine."""
    gaps = [request["gaps"][0] for request in running.stub.asked]
    return [gap["prefix"] + gap.get("middle", "") for gap in gaps]


async def test_the_next_request_at_the_place_has_the_type(running: Running) -> None:
    stub, held = running.stub, asyncio.Event()
    stub.reset()

    async def servers(question: dict[str, Any]) -> dict[str, Any]:
        await held.wait()
        return {"hover": HOVER}

    async with Asking(Path("/project"), options=OPTIONS, servers=servers) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        await editor.suggestion(URI, 1, 4)
        editor.type(URI, 1, 4, "client.")
        assert await editor.suggestion(URI, 1, 11) is not None, "it does not wait for other servers"
        assert editor.questions == [
            {"textDocument": {"uri": URI}, "hover": {"line": 1, "character": 4}, "diagnostics": False}
        ]
        assert prompts(running)[-1] == "def total(client):\n    client."
        held.set()
        await asyncio.sleep(0.1)  # the answer goes first, and the next request behind it
        editor.type(URI, 1, 11, "q")
        await editor.suggestion(URI, 1, 12)
        assert prompts(running)[-1] == f"def total(client):\n{COMMENT}    client.q"
        assert len(editor.questions) == 1, "once about each place"


async def test_what_is_prefilled_stays_as_it_is(running: Running) -> None:
    stub = running.stub
    stub.reset()
    stub.answer = lambda request: ""
    async with Asking(Path("/project"), options=OPTIONS, servers=lambda _: {"hover": HOVER}) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        await editor.suggestion(URI, 1, 4)
        before = stub.asked[-1]["gaps"][0]
        editor.type(URI, 1, 4, "x = 1\n    client.")
        await editor.suggestion(URI, 2, 11)
        await asked(editor, 1)
        assert editor.questions[-1]["hover"] == {"line": 2, "character": 4}
        editor.type(URI, 2, 11, "q")
        await editor.suggestion(URI, 2, 12)
        after = stub.asked[-1]["gaps"][0]
        assert (after["prefix"], after["suffix"]) == (before["prefix"], before["suffix"])
        assert after["middle"] == f"x = 1\n{COMMENT}    client.q"


async def test_a_prompt_that_ends_in_the_line_is_begun_anew_once(running: Running) -> None:
    running.stub.reset()
    running.stub.answer = lambda request: ""
    async with Asking(Path("/project"), options=OPTIONS, servers=lambda _: {"hover": HOVER}) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        editor.type(URI, 1, 4, "client.")
        await editor.suggestion(URI, 1, 11)
        await asked(editor, 1)
        editor.type(URI, 1, 11, "q")
        await editor.suggestion(URI, 1, 12)
        gap = running.stub.asked[-1]["gaps"][0]
        assert (gap["prefix"], gap["middle"]) == ("def total(client):\n    ", "# client: Client\n    client.q")
        editor.type(URI, 1, 12, "(client.")
        await editor.suggestion(URI, 1, 20)
        await asked(editor, 2)
        editor.type(URI, 1, 20, "q")
        await editor.suggestion(URI, 1, 21)
        after = running.stub.asked[-1]["gaps"][0]
        assert after == gap | {"middle": "# client: Client\n    client.q(client.q"}


async def test_a_call_is_asked_about_at_the_cursor_in_the_editors_units(running: Running) -> None:
    running.stub.reset()
    answer = {"signature": "(self, price: int) -> Fee"}
    async with Asking(Path("/project"), options=OPTIONS, servers=lambda _: answer) as editor:
        editor.open(URI, "\n")
        await editor.ready(URI)
        editor.type(URI, 0, 0, "x")
        await editor.suggestion(URI, 0, 1)
        editor.type(URI, 0, 1, " = 1\ny = '😀' + fee(")
        await editor.suggestion(URI, 1, 15)
        await asked(editor, 1)
        assert editor.questions[0]["signature"] == {"line": 1, "character": 15}
        assert "hover" not in editor.questions[0]
        editor.type(URI, 1, 15, "q")
        await editor.suggestion(URI, 1, 16)
        assert prompts(running)[-1] == "x = 1\n# fee(self, price: int) -> Fee\ny = '😀' + fee(q"


async def test_an_edit_in_another_row_may_change_the_answer(running: Running) -> None:
    running.stub.reset()
    async with Asking(Path("/project"), options=OPTIONS, servers=lambda _: None) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        editor.type(URI, 1, 4, "client.")
        editor.type(URI, 2, 12, "y")
        editor.type(URI, 1, 11, "a")
        await asked(editor, 2)
        assert [each["hover"] for each in editor.questions] == [{"line": 1, "character": 4}] * 2


async def test_after_an_empty_answer_the_editor_is_asked_again(running: Running) -> None:
    running.stub.reset()
    running.stub.answer = lambda request: ""
    answers = iter([None, {}, {"hover": HOVER}])
    async with Asking(Path("/project"), options=OPTIONS, servers=lambda _: next(answers)) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        editor.type(URI, 1, 4, "client.")
        for count in (1, 2, 3):
            await asked(editor, count)
            await asyncio.sleep(AGAIN_S + 0.2)
            editor.type(URI, 1, 10 + count, "q")
            await editor.suggestion(URI, 1, 11 + count)
        assert prompts(running)[-1] == f"def total(client):\n{COMMENT}    client.qqq"
        assert len(editor.questions) == 3


@pytest.mark.parametrize(
    "answer", [None, [], {"hover": 7}, {"diagnostics": [{"line": "?"}]}, "hover", {"hover": "x" * 10**6}]
)
async def test_a_strange_answer_harms_nothing(running: Running, answer: Any) -> None:
    running.stub.reset()
    async with Asking(Path("/project"), options=OPTIONS, servers=lambda _: answer) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        editor.type(URI, 1, 4, "client.")
        await editor.suggestion(URI, 1, 11)
        await asked(editor, 1)
        editor.type(URI, 1, 11, "q")
        assert await editor.suggestion(URI, 1, 12) is not None
        assert "#" not in prompts(running)[-1]
        assert editor.shown == []


async def test_an_editor_that_does_not_say_so_is_not_asked(running: Running) -> None:
    running.stub.reset()
    async with Asking(Path("/project"), options=OPTIONS) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        editor.type(URI, 1, 4, "client.")
        assert await editor.suggestion(URI, 1, 11) is not None
        assert editor.questions == []


async def test_nothing_is_asked_where_suggestions_are_off(running: Running) -> None:
    running.stub.reset()
    async with Asking(Path("/project"), options={"suggest": "off"}, servers=lambda _: None) as editor:
        editor.open(URI, TEXT)
        editor.type(URI, 1, 4, "client.")
        assert await editor.suggestion(URI, 1, 11) is None
        assert editor.questions == []


async def test_as_it_ships_nobody_is_asked(running: Running) -> None:
    running.stub.reset()
    async with Editor(Path("/project"), options=OPTIONS, servers=lambda _: {"hover": HOVER}) as editor:
        editor.open(URI, TEXT)
        await editor.ready(URI)
        editor.type(URI, 1, 4, "client.")
        await editor.suggestion(URI, 1, 11)
        editor.type(URI, 1, 11, "q")
        await editor.suggestion(URI, 1, 12)
        assert editor.questions == []
        assert prompts(running)[-1] == "def total(client):\n    client.q"
