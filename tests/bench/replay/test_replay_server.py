"""dlsp as a contender: the real server, an engine without a model, the tap between them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bench.replay.contender import Place
from bench.replay.scripts import Script
from bench.replay.server import Dlsp
from bench.replay.tap import Tap, _Connection
from tests.dlsp.stub_engine import StubEngine
from tests.e2e.texts import DONE, FILLED, events

TEXT = "def f(a, b):\n    \n"
AT = len("def f(a, b):\n    ")


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StubEngine]:
    folder = tmp_path / "state"
    folder.mkdir()
    monkeypatch.setenv("DLSP_STATE_DIR", str(folder))
    with StubEngine(folder) as engine:
        yield engine


@pytest.fixture
async def tap(stub: StubEngine) -> AsyncIterator[Tap]:
    """Servers find the tap in the stub engine's place."""
    written = json.loads(stub.file.read_text())
    tap = Tap(written["address"])
    stub.file.write_text(json.dumps(written | {"address": await tap.open()}))
    yield tap
    await tap.close()


@pytest.fixture
async def contender(tap: Tap, tmp_path: Path) -> AsyncIterator[Dlsp]:
    contender = Dlsp(tap, tmp_path, "", {"model": "0.5b"})
    await contender.ready()
    await contender.open(Script("x", "writing", "x", "", "x.py", TEXT, ()))
    yield contender
    await contender.close()


async def test_the_server_receives_what_is_typed_and_deleted(contender: Dlsp, stub: StubEngine):
    await contender.act(Place(TEXT[:AT], TEXT[AT:], key="move"))
    await contender.wait(10)
    await contender.act(Place(TEXT[:AT] + "x = 🎈", TEXT[AT:], "x = 🎈"))
    await contender.wait(10)
    await contender.act(Place(TEXT[:AT] + "x = ", TEXT[AT:], deleted=1, key="delete"))
    await contender.act(Place(TEXT[:AT] + "x = y", TEXT[AT:], "y"))
    await contender.wait(10)
    # What was asked before, and is cancelled, may reach the engine after it.
    gaps = [each["gaps"][0] for each in stub.asked]
    assert any((gap["prefix"] + gap.get("middle", "")).endswith("def f(a, b):\n    x = y") for gap in gaps)


async def test_the_server_receives_what_the_editor_closes(contender: Dlsp, stub: StubEngine):
    await contender.act(Place(TEXT[:AT], TEXT[AT:], key="move"))
    for typed, before, closers in (("x(", "x(", ")"), ("[", "x([", "])"), ("a", "x([a", "])"), ("]", "x([a]", ")")):
        await contender.act(Place(TEXT[:AT] + before, TEXT[AT:], typed, closers=closers))
        await contender.wait(10)
    stub.requests.clear()
    await contender.act(Place(TEXT[:AT] + "x([a]) + b", TEXT[AT:], ") + b", key="accept"))
    await contender.wait(10)
    gap = stub.asked[-1]["gaps"][0]
    assert (gap["prefix"] + gap["middle"] + gap["suffix"]) == TEXT[:AT] + "x([a]) + b" + TEXT[AT:]


async def test_a_suggestion_ends_before_the_closers_of_the_document(contender: Dlsp, stub: StubEngine):
    stub.answer = lambda request: "a, b))" if "g(" in str(request["gaps"][0]) else "a, b)"
    for before, closers, after, text in (
        ("f(", "", ")", "a, b"),
        ("f(", ")", "", "a, b)"),
        ("f(g(", ")", ")", "a, b)"),
    ):
        document = f"x = {before}{closers}{after}\n"
        await contender.open(Script("x", "writing", "x", "", "x.py", document, ()))
        await contender.act(Place(f"x = {before}", f"{after}\n", key="move", closers=closers))
        shown = await contender.wait(10)
        assert shown
        assert shown.text == text


async def test_what_is_shown_comes_with_what_the_engine_said(contender: Dlsp, tap: Tap, stub: StubEngine):
    stub.answer = lambda request: "return a + b"
    await contender.act(Place(TEXT[:AT], TEXT[AT:], key="move"))
    shown = await contender.wait(10)
    assert shown
    assert shown.text == "return a + b"
    assert not shown.memory
    assert shown.facts["cost"]["forwards"] == 4
    assert contender.work.forwards >= 4
    assert tap.exchanges[0].priority == "typing"


@pytest.mark.parametrize(("how", "text"), [({}, ""), ({"gate": "open", "without": "siblings"}, "return a + b")])
async def test_with_the_gate_open_every_answer_is_shown(
    tap: Tap, stub: StubEngine, tmp_path: Path, how: dict[str, str], text: str
):
    unlikely = {**FILLED, "text": "return a + b", "reason": "line", "confidence": [[12, -9.0]]}
    stub.raw = events(unlikely, DONE)
    contender = Dlsp(tap, tmp_path, "", {"model": "0.5b", "suggest": "eager"}, how)
    await contender.ready()
    await contender.open(Script("x", "writing", "x", "", "x.py", TEXT, ()))
    await contender.act(Place(TEXT[:AT], TEXT[AT:], key="move"))
    shown = await contender.wait(10)
    await contender.close()
    assert (shown.text if shown else "") == text


async def test_quiet_has_its_reason(contender: Dlsp, stub: StubEngine):
    stub.answer = lambda request: ""
    await contender.act(Place(TEXT[:AT], TEXT[AT:], key="move"))
    shown = await contender.wait(10)
    assert shown is None or not shown.text
    assert contender.quiet == "the model has nothing to add here"


async def test_a_key_that_comes_first_leaves_no_answer(contender: Dlsp, tap: Tap, stub: StubEngine):
    stub.hold.set()
    await contender.act(Place(TEXT[:AT], TEXT[AT:], key="move"))
    async with asyncio.timeout(30):
        while not tap.busy:
            await asyncio.sleep(0.01)
    assert await contender.wait(0.2) is None
    assert contender.quiet == ""
    assert tap.busy
    stub.hold.clear()


def test_the_tap_reads_what_comes_in_pieces():
    exchanges = []
    connection = _Connection(exchanges)
    body = json.dumps({"gaps": [], "priority": "prefetch"}).encode()
    head = b"POST /v1/infill HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body)
    for piece in (head[:20], head[20:] + body[:5], body[5:]):
        connection.asked(piece)
    fill = json.dumps({"event": "fill", "text": "x", "cost": {"forwards": 3}}).encode() + b"\n"
    canvas = b'{"event": "canvas"}\n'
    connection.answered(b"14\r\n" + canvas + b"\r\n14\r\n" + canvas)
    assert exchanges[0].forwards == 2, "so far"
    connection.answered(b"\r\n40\r\n" + fill[:10])
    assert not exchanges[0].ended
    connection.answered(fill[10:])
    assert (exchanges[0].priority, exchanges[0].forwards, exchanges[0].ended) == ("prefetch", 3, True)
