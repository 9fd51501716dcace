"""Other suggestions than the one that is shown."""

import json

import pytest
from lsprotocol import types

from dlsp.completions.types import Cursor
from tests.dlsp.server.conftest import Loading
from tests.dlsp.stub_engine import COST

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\r\n    return "


@pytest.fixture
def cursor(loading: Loading) -> Cursor:
    """At the end of `TEXT`."""
    loading.loaded.set()
    loading.app.server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, TEXT))
    cursor = loading.app.session.cursor(URI, types.Position(1, 11))
    assert isinstance(cursor, Cursor)
    return cursor


async def test_they_are_other_texts_than_the_suggestion(loading: Loading, cursor: Cursor) -> None:
    stub, service = loading.stub, loading.app.service
    answers = ["a + b", "b + a", "a + b", "sum((a, b))", "b + a"]
    stub.answer = lambda request: answers[request.get("seed", 0)]
    assert (await service.complete(cursor, invoked=True)).text == "a + b"
    assert [each.text for each in await service.alternatives(cursor)] == ["b + a", "sum((a, b))"]
    (request,) = [each for each in stub.requests if "n" in each]
    assert (request["n"], request["seed"], request["priority"]) == (4, 1, "filling")
    assert request["temperature"] > 0
    assert "session" not in request["gaps"][0], "the suggestion's own session is left as it is"


async def test_the_likeliest_comes_first_and_none_ends_in_a_stump(loading: Loading, cursor: Cursor) -> None:
    await loading.app.service.complete(cursor, invoked=True)
    texts = {"min(a, b)": -3.0, "max(a, b)": -1.0, "len(a": -0.5, "f(a)\n\ng(b)": -2.0, "": -0.1}
    fills = [
        {"event": "fill", "gap": 0, "text": text, "reason": "length", "cost": COST, "confidence": [[9, log_p]]}
        for text, log_p in texts.items()
    ]
    loading.stub.raw = b"".join(json.dumps(each).encode() + b"\n" for each in [*fills, {"event": "done"}])
    others = await loading.app.service.alternatives(cursor)
    assert [each.text for each in others] == ["len", "max(a, b)", "f(a)", "min(a, b)"]


async def test_without_an_engine_there_are_none(loading: Loading) -> None:
    loading.app.server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, TEXT))
    cursor = loading.app.session.cursor(URI, types.Position(1, 11))
    assert isinstance(cursor, Cursor)
    assert await loading.app.service.alternatives(cursor) == []
