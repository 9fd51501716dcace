"""What is shown when the engine has not finished at the deadline."""

import asyncio
import json
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from dlsp.completions.types import CompletionResult, Cursor, SkipReason
from tests.dlsp.server.conftest import Loading
from tests.dlsp.stub_engine import COST

URI = "file:///project/sum.py"
TEXT = "def add(a, b):\n    return "
SURE = -0.001
TIMEOUT_S = 0.3


def committed(text: str) -> bytes:
    """The event that a step sends: so much is fixed, and more is to come."""
    event = {"event": "canvas", "gap": 0, "committed": text, "canvas": [None]}
    return json.dumps(event | {"confidence": [[1, SURE]] * len(text)}).encode() + b"\n"


@pytest_asyncio.fixture
async def slow(loading: Loading) -> Loading:
    """Its engine has begun an answer and does not go on."""
    loading.loaded.set()
    loading.stub.raw = committed("sum([a, b]) + len(bo")
    loading.stub.more.set()
    return loading


async def ask(loading: Loading, text: str = TEXT, invoked: bool = False) -> CompletionResult:
    app = loading.app
    app.server.workspace.put_text_document(types.TextDocumentItem(URI, "python", 1, text))
    row = text.count("\n")
    cursor = app.session.cursor(URI, types.Position(row, len(text) - text.rfind("\n") - 1))
    assert isinstance(cursor, Cursor)
    return await app.service.complete(cursor, invoked=invoked, timeout_s=TIMEOUT_S)


@pytest.mark.parametrize("invoked", [False, True])
async def test_what_has_arrived_is_shown_as_far_as_it_is_finished(slow: Loading, invoked: bool) -> None:
    result = await ask(slow, invoked=invoked)
    assert result.text == "sum([a, b]) + len"
    assert result.reason == "deadline"
    await asyncio.to_thread(slow.stub.wait_for, lambda it: it.dropped)  # the engine stops


async def test_whole_lines_that_have_arrived_are_shown(slow: Loading) -> None:
    slow.stub.raw = committed("sum([a, b])\n\nprint(ad")
    assert (await ask(slow, invoked=True)).text == "sum([a, b])"


async def test_it_can_be_typed_and_goes_on_where_it_ends(slow: Loading) -> None:
    shown = await ask(slow)
    rest = await ask(slow, TEXT + "sum([a")
    assert (rest.text, rest.from_cache) == (shown.text.removeprefix("sum([a"), True)
    slow.stub.more.clear()
    slow.stub.raw = None
    slow.stub.answer = lambda request: "(body)" if request["gaps"][0]["middle"] == shown.text else ""
    assert (await ask(slow, TEXT + shown.text)).text == "(body)"


async def test_what_is_not_sure_enough_is_not_shown(slow: Loading) -> None:
    slow.stub.raw = committed("sum([a, b]) + len(bo").replace(str(SURE).encode(), b"-4.0")
    assert (await ask(slow)).skip is SkipReason.SLOW


@pytest.mark.parametrize("begun", ["", "self.cl", '"acc', "(a"])
async def test_where_nothing_is_finished_the_engine_is_called_busy(slow: Loading, begun: str) -> None:
    slow.stub.raw = committed(begun)
    result = await ask(slow, invoked=True)
    assert (result.text, result.skip) == ("", SkipReason.SLOW)


async def test_a_line_that_the_limit_of_tokens_cut_ends_in_no_stump(loading: Loading) -> None:
    loading.loaded.set()
    event: dict[str, Any] = {"event": "fill", "gap": 0, "text": "sum([a, b]) + len(bo", "reason": "length"}
    event |= {"cost": COST, "confidence": [[1, SURE]] * 20}
    loading.stub.raw = json.dumps(event).encode() + b'\n{"event": "done"}\n'
    assert (await ask(loading)).text == "sum([a, b]) + len"


async def test_a_lone_character_is_not_worth_reading(loading: Loading) -> None:
    loading.loaded.set()
    loading.stub.answer = lambda request: "    r"
    assert (await ask(loading, "def add(a, b):\n")).skip is SkipReason.SHORT
