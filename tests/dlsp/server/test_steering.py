"""The setting `steer` in a real server process, with many documents asked about at once."""

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from tests.dlsp.editor import Editor
from tests.dlsp.server.conftest import Running

pytestmark = pytest.mark.asyncio(loop_scope="module")

DOCUMENTS = 12


def text_of(number: int) -> str:
    return f"def own_{number}(a, b):\n    return \n"


async def opened(editor: Editor) -> list[str]:
    uris = [f"file:///project/part_{number}.py" for number in range(DOCUMENTS)]
    for number, uri in enumerate(uris):
        editor.open(uri, text_of(number))
    await editor.ready(uris[0])
    return uris


async def test_each_document_is_steered_by_its_own_names(running: Running) -> None:
    """While every document is asked about and typed in, so that many requests end in the middle."""
    stub = running.stub
    stub.reset()
    async with Editor(Path("/project"), options={"steer": "both", "suggest": "eager"}) as editor:
        uris = await opened(editor)
        stub.requests.clear()
        stub.hold.set()
        left = [editor.ask(uri, 1, 11) for uri in uris]
        await asyncio.to_thread(stub.wait_for, lambda it: len(it.asked) == DOCUMENTS)
        for uri in uris:
            editor.type(uri, 1, 11, "(")
        stub.hold.clear()
        asked = [editor.ask(uri, 1, 12) for uri in uris]
        for each in [*left, *asked]:
            assert isinstance(await asyncio.wait_for(each, 60), types.InlineCompletionList)
        for request in stub.asked:
            number = request["gaps"][0]["path"].removeprefix("part_").removesuffix(".py")
            constraint = request["constraint"]
            assert constraint["balanced"] is True
            assert f"own_{number}" in constraint["identifiers"]
            assert "append" in constraint["identifiers"], "of Python's own types"
        assert len({request["gaps"][0]["path"] for request in stub.asked}) == DOCUMENTS


async def test_a_change_of_the_setting_holds_from_the_next_request_on(running: Running) -> None:
    stub = running.stub
    stub.reset()
    async with Editor(Path("/project"), options={"suggest": "eager"}) as editor:
        (uri, *_) = await opened(editor)
        for number, (steer, fields) in enumerate(
            [("names", {"identifiers"}), ("off", set()), ("brackets", {"balanced"}), ("sideways", set())]
        ):
            editor.configure({"dlsp": {"steer": steer, "suggest": "eager"}})
            editor.type(uri, 1, 11 + number, "x")
            stub.requests.clear()
            await editor.suggestion(uri, 1, 12 + number)
            assert stub.asked, editor.skip
            found = set(stub.asked[-1].get("constraint", {}))
            assert found == fields, "a value that there is not is the default"


async def test_an_engine_that_refuses_the_constraint_is_a_reason_to_be_quiet(running: Running) -> None:
    stub = running.stub
    stub.reset()
    async with Editor(Path("/project"), options={"steer": "both", "suggest": "eager"}) as editor:
        uris = await opened(editor)
        stub.status, stub.raw = 400, b'{"error": "The constraint is too complex."}'
        answers = await asyncio.gather(*(editor.suggestion(uri, 1, 11) for uri in uris[1:]))
        assert answers == [None] * (DOCUMENTS - 1)
        assert {answer["skip"] for answer in editor.answers[-len(answers) :]} == {"failed"}
        assert editor.shown == []
        stub.reset()
        editor.type(uris[1], 1, 11, "a")
        assert await editor.suggestion(uris[1], 1, 12) is not None
