"""The connection to an engine: made in the background, made again when the engine is lost, and not for ever."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from dlsp.completions.observers import SkipCounters
from dlsp.engine import launch
from dlsp.engine.client import EngineGone, EngineSilent
from dlsp.engine.connection import (
    LOSS_WINDOW_S,
    MAX_LOSSES,
    EngineConnection,
    EnginePool,
    NotReady,
    SilentListener,
    Unavailable,
)
from dlsp.engine.state import State
from dlsp.errors import UserError
from dlsp.models.catalogue import CATALOGUE, DEFAULT
from dlsp.models.store import ModelMissing


class Engine:
    """An engine that answers `/health` as long as `there`, and requests with `events`, or with an error."""

    there = True
    closed = False
    state = State("unix:/engine", "token", "nonce", 1, DEFAULT.name, "1", 1.0)

    def __init__(self, *events: Any) -> None:
        self.events, self.asked = events, list[dict[str, Any]]()

    async def health(self, timeout: float) -> dict[str, Any]:
        if not self.there:
            raise EngineGone("It does not answer.")
        return {}

    async def infill(self, request: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        self.asked.append(request)
        await asyncio.sleep(0)
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            yield event

    sites = infill

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


class Seen(SilentListener):
    """A connection, what it told, and its clock."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.statuses: list[str] = []
        self.now = 0.0
        self.counters = SkipCounters()
        self.connection = EngineConnection(DEFAULT, self, self.counters, clock=lambda: self.now)

    def engine_loading(self) -> None:
        self.statuses.append("loading")

    def engine_ready(self, destination: str) -> None:
        self.statuses.append("ready")

    def engine_failed(self, sentence: str, is_new: bool) -> None:
        self.statuses.append("failed")
        self.told += [sentence] if is_new else []

    async def ask(self, what: str = "infill") -> list[Any]:
        async with aclosing(getattr(self.connection, what)({"gaps": []})) as events:
            return [event async for event in events]


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_failed_start_is_tried_again_ever_later_and_reported_once(making: Making) -> None:
    seen = Seen()
    making.outcomes = [UserError("It is broken.")] * 4 + [Engine()]
    for at, tries in ((0, 1), (0.9, 1), (1.1, 2), (2.9, 2), (3.2, 3), (7.3, 4), (15, 4), (15.4, 5)):
        seen.now = at
        seen.connection.connect_in_background()
        await settle()
        assert making.tries == tries, at
    assert seen.told == ["It is broken."]
    assert seen.connection.is_ready
    assert seen.statuses[-3:] == ["failed", "loading", "ready"]


async def test_what_was_mended_is_reported_when_it_breaks_again(making: Making) -> None:
    seen = Seen()
    gone = EngineGone("It is gone.")
    making.outcomes = [UserError("It is broken."), Engine(gone), UserError("It is broken.")]
    for at in (0, 2):
        seen.now = at
        seen.connection.connect_in_background()
        await settle()
    with pytest.raises(EngineGone):
        await seen.ask()
    await settle()
    assert seen.told == ["It is broken."] * 2


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ModelMissing("It is not here", "pull it"), Unavailable.MODEL_MISSING),
        (UserError("No."), Unavailable.FAILED),
        (KeyError("x"), Unavailable.FAILED),
    ],
)
async def test_whatever_goes_wrong_is_a_reason(making: Making, error: Exception, why: Unavailable) -> None:
    seen = Seen()
    making.outcomes = [error]
    seen.connection.connect_in_background()
    assert seen.connection.unavailable is Unavailable.LOADING
    await settle()
    assert seen.connection.unavailable is why
    assert len(seen.told) == 1
    with pytest.raises(NotReady):
        await seen.ask()


async def test_the_next_start_is_as_is_set_then(making: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[int, bool]] = []

    async def start(model: object, progress: object, threads: int, infill_update: bool) -> Engine:
        started.append((threads, infill_update))
        return Engine(EngineGone("It is gone."))

    monkeypatch.setattr(launch, "start", start)
    pool = EnginePool(SilentListener())
    making.outcomes = [None, None]
    connection = pool.connection(DEFAULT, 2)
    assert await connection.ready()
    assert pool.connection(DEFAULT, 3, infill_update=False) is connection
    with pytest.raises(EngineGone):
        await anext(connection.infill({}))
    assert await connection.ready()
    assert started == [(2, True), (3, False)]
    assert pool.connection(CATALOGUE[1]) is not connection


async def test_who_waits_has_the_engine_or_a_reason(making: Making) -> None:
    seen = Seen()
    making.outcomes = [UserError("It is broken."), Engine({"event": "fill"})]
    assert not await seen.connection.ready()
    assert seen.connection.unavailable is Unavailable.FAILED
    assert not await seen.connection.ready(), "it failed a moment ago"
    seen.now = 2
    assert await seen.connection.ready()
    assert await seen.connection.ready()
    assert making.tries == 2
    assert await seen.ask() == [{"event": "fill"}]


@pytest.mark.parametrize("what", ["infill", "sites"])
async def test_a_lost_engine_is_replaced_at_once(making: Making, what: str) -> None:
    seen = Seen()
    old, new = Engine(EngineGone("It is gone.")), Engine({"event": "fill"})
    making.outcomes = [old, new]
    assert await seen.connection.ready()
    both = await asyncio.gather(seen.ask(what), seen.ask(what), return_exceptions=True)
    assert [type(each) for each in both] == [EngineGone] * 2
    await settle()
    assert old.closed
    assert making.tries == 2, "the second request that saw it must not have a third engine started"
    assert making.ended == []
    assert await seen.ask(what) == [{"event": "fill"}]


async def test_a_silent_engine_is_ended_before_another_is_made(making: Making) -> None:
    seen = Seen()
    making.outcomes = [old := Engine(EngineSilent("It says nothing.")), Engine()]
    assert await seen.connection.ready()
    with pytest.raises(EngineSilent):
        await seen.ask()
    assert not seen.connection.is_ready
    await settle()
    assert making.ended == [old.state]
    assert seen.connection.is_ready


async def test_a_request_that_kills_every_engine_is_not_given_one_for_ever(making: Making) -> None:
    seen = Seen()
    making.outcomes = [Engine(EngineGone("It is gone.")) for _ in range(3 * MAX_LOSSES)]
    for _ in range(3 * MAX_LOSSES):
        seen.now += 1
        if await seen.connection.ready():
            with pytest.raises(EngineGone):
                await seen.ask()
    assert making.tries == 1 + MAX_LOSSES
    assert seen.connection.unavailable is Unavailable.FAILED
    (told,) = seen.told
    assert "dlsp engine status" in told
    seen.now += LOSS_WINDOW_S
    assert await seen.connection.ready(), "later it is tried again"


async def test_engines_that_worked_are_replaced_however_often_they_end(making: Making) -> None:
    seen = Seen()
    making.outcomes = [Engine({"event": "fill"}, EngineGone("It is gone.")) for _ in range(3 * MAX_LOSSES + 1)]
    for _ in range(3 * MAX_LOSSES):
        assert await seen.connection.ready()
        with pytest.raises(EngineGone):
            await seen.ask()
    assert seen.told == []


async def test_a_loss_now_and_then_is_no_reason_to_wait(making: Making) -> None:
    seen = Seen()
    making.outcomes = [Engine(EngineGone("It is gone.")) for _ in range(3 * MAX_LOSSES + 1)]
    for _ in range(3 * MAX_LOSSES):
        seen.now += LOSS_WINDOW_S / MAX_LOSSES + 1
        assert await seen.connection.ready()
        with pytest.raises(EngineGone):
            await seen.ask()
    assert seen.told == []


async def test_counts_of_a_request_that_failed_go_with_the_next(making: Making) -> None:
    seen = Seen()
    old, new = Engine(EngineGone("It is gone.")), Engine({"event": "fill"})
    making.outcomes = [old, new]
    assert await seen.connection.ready()
    seen.counters.restore({"empty": 2})
    with pytest.raises(EngineGone):
        await seen.ask()
    assert await seen.connection.ready()
    await seen.ask()
    await seen.ask()
    assert [request.get("quiet") for request in old.asked + new.asked] == [{"empty": 2}, {"empty": 2}, None]


async def test_only_an_engine_that_does_not_answer_is_given_up_for_being_slow(making: Making) -> None:
    seen = Seen()
    old, new = Engine({"event": "old"}), Engine({"event": "new"})
    making.outcomes = [old, new]
    assert await seen.connection.ready()
    seen.connection.check_health()
    await settle()
    assert await seen.ask() == [{"event": "old"}]
    old.there = False
    seen.connection.check_health()
    await settle()
    assert await seen.ask() == [{"event": "new"}]


async def test_nothing_is_started_after_the_close(making: Making) -> None:
    seen = Seen()
    making.outcomes = [Engine()]
    await seen.connection.close()
    seen.connection.connect_in_background()
    assert not await seen.connection.ready()
    assert making.tries == 0


async def test_an_engine_that_is_left_is_closed(making: Making) -> None:
    seen = Seen()
    making.outcomes = [engine := Engine()]
    assert await seen.connection.ready()
    await seen.connection.close()
    assert engine.closed
    assert not seen.connection.is_ready
