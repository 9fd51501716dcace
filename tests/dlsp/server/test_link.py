import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types
from pygls.workspace import Workspace

from dlsp.completions.types import SkipReason
from dlsp.edits.rank import proposals as propose
from dlsp.engine import launch
from dlsp.engine.client import EngineGone, EngineSilent
from dlsp.errors import UserError
from dlsp.models.catalogue import DEFAULT
from dlsp.models.store import ModelMissing
from dlsp.server import link as module
from dlsp.server.documents import Documents
from dlsp.server.edits import Edits
from dlsp.server.link import Link
from dlsp.server.rewrite import rewritten
from dlsp.server.server import Server
from dlsp.server.status import Status


class Engine:
    """An engine that answers `/health` as long as `there`."""

    there = True
    closed = False
    state = "whose it is"

    async def health(self, timeout: float) -> dict[str, Any]:
        if not self.there:
            raise EngineGone("It does not answer.")
        return {}

    async def close(self) -> None:
        self.closed = True


class Making:
    """What each next try to find or start an engine comes to."""

    def __init__(self) -> None:
        self.outcomes: list[Any] = []
        self.tries = 0
        self.ended: list[object] = []

    async def connect(self, model: object) -> Any:
        self.tries += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def end_silent(self, model: object, found: object) -> bool:
        self.ended += [found] if found else []
        return True


@pytest.fixture
def making(monkeypatch: pytest.MonkeyPatch) -> Making:
    making = Making()
    monkeypatch.setattr(launch, "connect", making.connect)
    monkeypatch.setattr(launch, "end_silent", making.end_silent)
    return making


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


class Seen:
    def __init__(self) -> None:
        self.told: list[str] = []
        self.statuses: list[Any] = []
        status = Status(lambda _, params: self.statuses.append(params))
        self.link = Link(DEFAULT, lambda: None, self.told.append, status)  # type: ignore[arg-type, return-value]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_failed_start_is_tried_again_ever_later_and_told_once(making: Making, clock: Any) -> None:
    seen = Seen()
    making.outcomes = [UserError("It is broken.")] * 4 + [Engine()]
    for at, tries in ((0, 1), (0.9, 1), (1.1, 2), (2.9, 2), (3.2, 3), (7.3, 4), (15, 4), (15.4, 5)):
        clock.now = at
        seen.link.make()
        await settle()
        assert making.tries == tries, at
    assert seen.told == ["It is broken."]
    assert seen.link.engine is not None
    assert [(each["busy"], each["kind"]) for each in seen.statuses][-3:] == [
        (False, "Error"),
        (True, "Normal"),
        (False, "Normal"),
    ]


@pytest.mark.parametrize(
    ("error", "quiet"),
    [
        (ModelMissing("It is not here", "pull it"), SkipReason.MISSING),
        (UserError("No."), SkipReason.FAILED),
        (KeyError("x"), SkipReason.FAILED),
    ],
)
async def test_whatever_goes_wrong_is_a_reason(making: Making, error: Exception, quiet: SkipReason) -> None:
    seen = Seen()
    making.outcomes = [error]
    seen.link.make()
    assert seen.link.quiet is SkipReason.LOADING
    await settle()
    assert seen.link.quiet is quiet
    assert len(seen.told) == 1


async def test_the_next_start_is_as_is_set_then(making: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, bool]] = []

    async def start(model: object, progress: object, threads: int, infill_update: bool) -> Engine:
        started.append((threads, infill_update))
        return Engine()

    async def shown(*_: object) -> None: ...

    monkeypatch.setattr(launch, "start", start)
    loading = SimpleNamespace(begin=shown, report=None, end=lambda line: None)
    monkeypatch.setattr("dlsp.server.server.Loading", lambda server: loading)
    server = Server()
    server.status = Status(lambda method, params: None)
    making.outcomes = [None, None]
    for threads, update in ((2, True), (3, False)):
        server.configuration.push({"threads": threads, "infill_update": update})
        server.link().engine = None
        server.link().make()
        await settle()
    assert started == [(2, True), (3, False)]


async def test_who_waits_has_the_engine_or_a_reason(making: Making, clock: Any) -> None:
    seen = Seen()
    making.outcomes = [UserError("It is broken."), engine := Engine()]
    assert await seen.link.ready() is None
    assert seen.link.quiet is SkipReason.FAILED
    assert await seen.link.ready() is None, "it failed a moment ago"
    clock.now = 2
    assert await seen.link.ready() is engine
    assert await seen.link.ready() is engine
    assert making.tries == 2


async def test_a_lost_engine_is_replaced_at_once(making: Making) -> None:
    seen = Seen()
    old, new = Engine(), Engine()
    making.outcomes = [old, new]
    seen.link.make()
    await settle()
    seen.link.lost(old, EngineGone("It is gone."))  # type: ignore[arg-type]
    seen.link.lost(old, EngineGone("It is gone."))  # type: ignore[arg-type]
    await settle()
    assert seen.link.engine is new
    assert old.closed
    assert making.tries == 2
    assert making.ended == []


@pytest.mark.parametrize("newer", [None, Engine()])
@pytest.mark.parametrize("asks", ["edits", "rewrite"])
async def test_the_engine_that_was_asked_is_the_one_lost(
    monkeypatch: pytest.MonkeyPatch, state_folder: Path, asks: str, newer: Engine | None
) -> None:
    """Another request has seen it first, and there is no engine now, or a newer one."""
    lost: list[object] = []
    link = SimpleNamespace(make=lambda: None, lost=lambda engine, error: lost.append(engine))

    async def ready() -> Any:
        return link.engine

    async def gone(*_: object) -> AsyncIterator[Any]:
        link.engine = newer
        raise EngineSilent("It says nothing.")
        yield

    asked, link.ready = SimpleNamespace(sites=gone), ready
    link.engine = asked
    monkeypatch.setattr(propose, "proposals", gone)
    server = Server()
    server.protocol.keep(Documents(Workspace(None)))  # type: ignore[attr-defined]
    server.link = lambda uri=None: link  # type: ignore[assignment, method-assign, return-value]
    edits = Edits(server)
    uri, span = "file:///project/a.py", types.Range(types.Position(0, 4), types.Position(0, 7))
    server.workspace.put_text_document(types.TextDocumentItem(uri, "python", 1, "def add(a): pass\nadd(1)\n"))
    edits.opened(uri)
    change = types.TextDocumentContentChangePartial(span, "plus")
    server.workspace.update_text_document(types.VersionedTextDocumentIdentifier(2, uri), change)
    edits.changed(uri)
    wish = SimpleNamespace(textDocument=SimpleNamespace(uri=uri), range=span, instruction="subtract")
    answer = anext(edits.ask(uri)) if asks == "edits" else rewritten(edits, wish)
    with pytest.raises(EngineSilent):
        await answer
    assert lost == [asked]


async def test_a_silent_engine_is_ended_before_another_is_made(making: Making) -> None:
    seen = Seen()
    making.outcomes = [old := Engine(), new := Engine()]
    seen.link.make()
    await settle()
    seen.link.lost(old, EngineSilent("It says nothing."))  # type: ignore[arg-type]
    assert seen.link.engine is None
    await settle()
    assert making.ended == [old.state]
    assert seen.link.engine is new


async def test_only_an_engine_that_does_not_answer_is_given_up_for_being_slow(making: Making) -> None:
    seen = Seen()
    old, new = Engine(), Engine()
    making.outcomes = [old, new]
    seen.link.make()
    await settle()
    seen.link.doubt(old)  # type: ignore[arg-type]
    await settle()
    assert seen.link.engine is old
    old.there = False
    seen.link.doubt(old)  # type: ignore[arg-type]
    await settle()
    assert seen.link.engine is new
