"""What one request does to others: how long they wait, and what becomes of them when it fails."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from dlsp_engine import EngineError, Gap, Options
from dlsp_engine.decode.answer import Fill
from dlsp_engine.serve import scheduler as scheduling
from dlsp_engine.serve import turns
from dlsp_engine.serve.requests import parse
from dlsp_engine.serve.scheduler import Busy, Outcome, Scheduler, Ticket
from tests.engine.serve.conftest import SlowEngine

TYPING, FILLING, PREFETCH = range(3)


@pytest.fixture
def scheduler(engine: SlowEngine) -> Iterator[Scheduler]:
    engine.step_s = 0.002
    made = Scheduler(engine)
    yield made
    made.close()
    made.join()


class Asked:
    """A ticket, and how it ended."""

    def __init__(self, gap: Gap, options: Options, priority: int = TYPING, client: str = "", request: int = 0) -> None:
        self.outcome: object = None
        self.ended = threading.Event()
        self.ticket = Ticket(gap, options, priority, lambda _: None, self._end, client, request)

    def _end(self, outcome: object) -> None:
        self.outcome = outcome
        self.ended.set()

    @property
    def fill(self) -> Fill:
        assert self.ended.wait(30)
        assert isinstance(self.outcome, Fill), self.outcome
        return self.outcome


def asked(scheduler: Scheduler, *some: Asked) -> None:
    for one in some:
        scheduler.submit(one.ticket)


def bulk(count: int, priority: int, client: str) -> list[Asked]:
    options = Options(mode="autoregressive", max_tokens=60)
    return [Asked(Gap(f"x{n} = ", "\n"), options, priority, client, 1) for n in range(count)]


def keystroke(priority: int, client: str) -> Asked:
    return Asked(Gap("def f(", ""), Options(max_tokens=4), priority, client, 2)


@pytest.mark.parametrize(("priority", "client"), [(TYPING, "editor"), (TYPING, "script"), (FILLING, "editor")])
def test_a_keystroke_does_not_wait_for_many_gaps(scheduler: Scheduler, priority: int, client: str):
    """Of another client in any case; of the same one where both are typing: the newest goes first."""
    many = bulk(64, priority, "script")
    asked(scheduler, *many)
    while not any(one.ticket.request for one in many):
        time.sleep(0.001)
    typed = keystroke(priority, client)
    asked(scheduler, typed)
    assert typed.fill
    assert sum(one.ended.is_set() for one in many) <= 1
    assert all(one.fill for one in many)


@pytest.mark.parametrize(("urgent", "other"), [(TYPING, FILLING), (TYPING, PREFETCH), (FILLING, PREFETCH)])
def test_what_is_less_urgent_ends_though_others_never_stop(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, urgent: int, other: int
):
    monkeypatch.setattr(turns, "OVERDUE_S", 0.05)
    options = Options(mode="autoregressive", max_tokens=4)
    late = Asked(Gap("y = ", "\n"), options, other, "b")

    def again(_: object = None) -> None:  # before the scheduler looks for what is next
        if not late.ended.is_set():
            scheduler.submit(Ticket(Gap("x = ", "\n"), options, urgent, lambda _: None, again, "a"))

    again()
    asked(scheduler, late)
    assert late.fill


def test_clients_have_equal_shares(scheduler: Scheduler, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduling, "MAX_RUNNING", 8)
    offered: list[list[str]] = []
    step = engine.step
    whose: dict[str, str] = {}

    def watched(requests, sharing=None, short=False):
        offered.append([whose[request.options.stop[0]] for request in requests])
        return step(requests, sharing, short)

    monkeypatch.setattr(engine, "step", watched)
    all_asked = []
    for client, count in (("a", 40), ("b", 4), ("c", 1)):
        whose[client * 9] = client
        options = Options(mode="autoregressive", max_tokens=20, stop=(client * 9,))
        all_asked += [Asked(Gap(f"{client}{n} = ", "\n"), options, FILLING, client, 1) for n in range(count)]
    asked(scheduler, *all_asked)
    assert all(one.fill for one in all_asked)
    full = [clients for clients in offered if set(clients) == {"a", "b", "c"}]
    assert full
    assert max(len(clients) for clients in full) == 8
    assert all(clients.count("b") >= 3 for clients in full if len(clients) == 8)


def raising(engine: SlowEngine, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Requests whose prefix is `bad` raise in `plan` or in the middle of `take`."""
    made = engine.request

    def request(gap: Gap, *rest, **more):
        one = made(gap, *rest, **more)
        if gap.prefix.startswith("bad"):

            def fail(*_: object) -> None:
                raise ValueError("what the file holds")

            monkeypatch.setattr(one.decoder, where, fail)
        return one

    monkeypatch.setattr(engine, "request", request)


@pytest.mark.parametrize("where", ["plan", "take"])
def test_a_request_that_raises_fails_alone(
    scheduler: Scheduler, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch, where: str
):
    options = Options(max_tokens=24)
    gaps = [Gap(f"x{n} = ", "\n") for n in range(15)]
    expected = [engine.fill(gap, options).text for gap in gaps]
    raising(engine, monkeypatch, where)
    good = [Asked(gap, options, FILLING) for gap in gaps]
    asked(scheduler, *good[:7])
    bad = Asked(Gap("bad", ""), options, FILLING)
    asked(scheduler, bad, *good[7:])
    assert [one.fill.text for one in good] == expected
    assert bad.ended.wait(10)
    assert "log says why" in str(bad.outcome)


@pytest.mark.parametrize("where", ["plan", "take"])
def test_requests_that_raise_never_end_the_engine(
    scheduler: Scheduler, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch, where: str
):
    raising(engine, monkeypatch, where)
    for _ in range(100):
        bad = Asked(Gap("bad", ""), Options(max_tokens=4))
        asked(scheduler, bad)
        assert bad.ended.wait(10)
        assert "log says why" in str(bad.outcome)
    assert not scheduler.broken
    last = keystroke(TYPING, "")
    asked(scheduler, last)
    assert last.fill


def test_a_step_is_left_when_something_more_urgent_comes(
    scheduler: Scheduler, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    gap, options = Gap("x = ", "\n"), Options(mode="autoregressive", max_tokens=60)
    expected, filling = engine.fill(gap, options).text, Asked(gap, options, FILLING, "a")
    forward, stepping, typed = engine.model.forward, threading.Event(), threading.Event()

    def long(batch):
        stepping.set()
        assert typed.wait(10)
        return forward(batch)

    monkeypatch.setattr(engine.model, "forward", long)
    asked(scheduler, filling)
    assert stepping.wait(10)
    key, rows = keystroke(TYPING, "b"), list[int]()
    end = key.ticket.on_end

    def on_end(outcome: Outcome | str) -> None:
        assert filling.ticket.request
        rows.append(filling.ticket.request.rows_run)
        end(outcome)

    key.ticket.on_end = on_end
    asked(scheduler, key)
    typed.set()
    assert key.fill
    assert rows == [0]
    assert filling.fill.text == expected


def test_others_go_on_though_somebody_types_in_each_of_their_steps(
    scheduler: Scheduler, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    (filling,) = bulk(1, FILLING, "a")
    forward, keys = engine.model.forward, list[Asked]()

    def interrupted(batch):
        if not keys or keys[-1].ended.is_set():
            keys.append(keystroke(TYPING, "b"))
            asked(scheduler, keys[-1])
        return forward(batch)

    monkeypatch.setattr(engine.model, "forward", interrupted)
    asked(scheduler, filling)
    assert filling.fill
    assert len(keys) > 60


def test_prefetching_and_filling_leave_room_for_typing(scheduler: Scheduler, engine: SlowEngine):
    engine.step_s = 0.05

    def until_busy(make: Callable[[], Asked]) -> int:
        for count in range(scheduling.MAX_WAITING + 1):
            try:
                asked(scheduler, make())
            except Busy:
                return count
        raise AssertionError("it is never refused")

    options = Options(max_tokens=200)
    prefetched = until_busy(lambda: Asked(Gap("x = ", ""), options, PREFETCH))
    filled = until_busy(lambda: Asked(Gap("x = ", ""), options, FILLING))
    typed = until_busy(lambda: Asked(Gap("x = ", ""), options, TYPING))
    assert min(prefetched, filled, typed) >= scheduling.MAX_WAITING // 8
    assert prefetched + filled + typed == scheduling.MAX_WAITING


def test_editors_do_not_share_sessions(scheduler: Scheduler):
    def gap() -> Gap:
        return Gap("def f(x):\n    return ", "\n", session="file:///a.py")

    running = Asked(gap(), Options(mode="autoregressive", max_tokens=300), TYPING, "one")
    asked(scheduler, running)
    while not running.ticket.request:
        time.sleep(0.001)
    scheduler.cancel("two", ["file:///a.py"])
    other = Asked(gap(), Options(max_tokens=2), TYPING, "two")
    asked(scheduler, other)
    assert other.fill.cost.cached_tokens <= 40, "it may copy, and takes no session away"
    assert not running.ticket.cancelled.is_set()
    scheduler.cancel("one", ["file:///a.py"])
    assert running.ended.wait(10)
    assert running.outcome == "Cancelled."


def test_a_prompt_that_is_too_long_leaves_its_session_alone(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scheduling, "MAX_PROMPT_TOKENS", 200)
    short, long = Gap("x" * 100, "", session="s"), Gap("x" * 500, "", session="s")
    first = Asked(short, Options(max_tokens=2))
    asked(scheduler, first)
    assert first.fill
    before = list(scheduler.sessions)
    refused = Asked(long, Options(max_tokens=2))
    asked(scheduler, refused)
    assert refused.ended.wait(10)
    assert "at most 200" in str(refused.outcome)
    assert list(scheduler.sessions) == before


def test_several_gaps_are_filled_and_one_is_typed():
    gap = {"prefix": "a", "suffix": ""}
    assert parse({"gaps": [gap]}).priority == TYPING
    assert parse({"gaps": [gap, gap]}).priority == FILLING
    assert parse({"gaps": [gap, gap], "priority": "typing"}).priority == TYPING
    assert parse({"gaps": [gap], "client": "editor"}).client == "editor"
    with pytest.raises(EngineError, match="'client'"):
        parse({"gaps": [gap], "client": 7})


def test_a_client_with_long_prompts_does_not_hold_up_another(scheduler: Scheduler, engine: SlowEngine):
    """Their prompts are prefilled by turns: the short one is done after about twice the steps that it takes alone."""
    options = Options(mode="autoregressive", max_tokens=2)
    long = [Asked(Gap(f"{n} = 1\n" * 400, ""), options, FILLING, "a", 1) for n in range(4)]
    engine.step_s = 0.005
    asked(scheduler, *long)
    while not any(one.ticket.request for one in long):
        time.sleep(0.001)
    before = engine.steps
    short = Asked(Gap("x" * 500, ""), options, FILLING, "b", 1)
    asked(scheduler, short)
    assert short.fill
    assert engine.steps - before <= 16
    assert not any(one.ended.is_set() for one in long[1:])
    assert all(one.fill for one in long)


def test_steps_are_short_while_somebody_types(
    scheduler: Scheduler, engine: SlowEngine, monkeypatch: pytest.MonkeyPatch
):
    told: list[bool] = []
    step = engine.step

    def watched(requests, sharing=None, short=False):
        told.append(short)
        return step(requests, sharing, short)

    monkeypatch.setattr(engine, "step", watched)
    few = Options(mode="autoregressive", max_tokens=8)
    asked(scheduler, first := Asked(Gap("x = ", ""), few, FILLING, "script"))
    assert first.fill
    assert told == [False] * len(told), "nobody types"
    typed = keystroke(TYPING, "editor")
    asked(scheduler, typed)
    assert typed.fill
    assert told == [False] * len(told), "nor is the keystroke's own step a short one"
    before = len(told)
    asked(scheduler, second := Asked(Gap("x = ", ""), few, FILLING, "script"))
    assert second.fill
    assert all(told[before:])
    monkeypatch.setattr(scheduling, "TYPING_LASTS_S", 0.0)
    before = len(told)
    asked(scheduler, third := Asked(Gap("x = ", ""), few, FILLING, "script"))
    assert third.fill
    assert not any(told[before:])


def test_requests_and_kept_sessions_share_the_memory(scheduler: Scheduler, engine: SlowEngine):
    """Requests displace kept sessions, the oldest first, but not all of them; those that find no room wait."""
    a_prompt = engine.new_session().cache.bytes_of(1024)
    most = scheduler.sessions.most_bytes = 8 * a_prompt
    few = Options(mode="autoregressive", max_tokens=2)
    for number in range(8):
        asked(scheduler, kept := Asked(Gap(f"{number}" * 900, "", session=f"{number}"), few, FILLING, "editor"))
        assert kept.fill
    before = len(scheduler.sessions)
    assert before >= 6
    engine.step_s = 0.01
    long = Options(mode="autoregressive", max_tokens=30)
    many = [Asked(Gap(chr(97 + n) * 900, ""), long, FILLING, "script") for n in range(12)]
    asked(scheduler, *many)
    most_held = least_kept = None
    while not all(one.ended.is_set() for one in many):
        held = sum(one.ticket.request.bytes for one in many if one.ticket.request)
        most_held = max(most_held or 0, held)
        least_kept = min(least_kept or before, len(scheduler.sessions))
        time.sleep(0.002)
    assert all(one.fill for one in many)
    assert most_held
    assert most // 2 < most_held <= most, "some wait until others have ended"
    assert least_kept
    assert 1 <= least_kept < before
    assert scheduler.sessions.take(("gap", "editor", "7")), "the newest is still there"
    assert not scheduler.sessions.take(("gap", "editor", "0"))
