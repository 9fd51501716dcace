"""A team's server in virtual time: typists ask replicas whose steps cost what was measured.

A replica runs one step after another. Each request in it brings rows: at first those of the prompt that its cache
lacks, up to CHUNK_ROWS a step, then `rows` for each step that its answer takes. A step costs what its rows cost.
Typists ask at every key; the next key supersedes what has not ended.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.replay.pace import Pace

CHUNK_ROWS = 128
MOST_TOGETHER = 32  # requests that share a step
KEYS = 12  # typed in each document
AFFINITY, IN_TURN = "router", "round_robin"


@dataclass(frozen=True)
class Load:
    """What is asked. `prompts` and `forwards` are measured numbers of tokens and of steps of answers, drawn from by
    chance. `overhead_ms` is added to each answer: HTTP and Ray. `cores`, if given, are shared by replicas that each use
    `threads`; a step takes longer the more of them are at work."""

    users: int
    replicas: int
    seconds: float
    prompts: Sequence[int]
    forwards: Sequence[int]
    rows: float
    overhead_ms: float = 0.0
    router: str = AFFINITY
    lost_at_s: float | None = None
    back_after_s: float = 15.0
    cores: int | None = None
    threads: int = 1
    seed: int = 1


@dataclass
class _Request:
    user: int
    at_s: float
    document: tuple[int, int]
    prompt: int
    unread: int
    steps: int
    first: bool
    ended: bool = False
    hit: bool = True


@dataclass
class _Replica:
    work: list[_Request] = field(default_factory=list)
    cached: set[tuple[int, int]] = field(default_factory=set)
    stepping: bool = False
    lost: bool = False
    epoch: int = 0


@dataclass(frozen=True)
class Answered:
    """An answer: when it was asked for, its milliseconds, whether its session was found, if it is not the first."""

    at_s: float
    ms: float
    hit: bool
    first: bool


def costs(table: dict[str, float]) -> Callable[[float], float]:
    """Milliseconds of a step by its number of rows, from measured ones: linear between and beyond them."""
    rows, ms = zip(*sorted((float(count), cost) for count, cost in table.items()), strict=True)
    slope = (ms[-1] - ms[-2]) / (rows[-1] - rows[-2])
    return lambda count: float(np.interp(count, rows, ms)) + max(0.0, count - rows[-1]) * slope


def simulate(load: Load, cost: Callable[[float], float]) -> list[Answered]:
    """The answers within the load's seconds."""
    return _Simulation(load, cost).run()


class _Simulation:
    def __init__(self, load: Load, cost: Callable[[float], float]) -> None:
        self._load, self._cost = load, cost
        self._rng = random.Random(load.seed)
        self._replicas = [_Replica() for _ in range(load.replicas)]
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = self._turn = 0
        self._current: dict[int, _Request] = {}
        self._answers: list[Answered] = []

    def run(self) -> list[Answered]:
        load = self._load
        for user in range(load.users):
            self._at(self._rng.random(), lambda now, user=user: self._key(now, user, Pace(f"{load.seed}-{user}"), 0, 0))
        if load.lost_at_s is not None:
            self._at(load.lost_at_s, lambda _: self._lose())
            self._at(load.lost_at_s + load.back_after_s, lambda _: self._restore())
        while self._events:
            now, _, happen = heapq.heappop(self._events)
            if now > load.seconds:
                break
            happen(now)
        return self._answers

    def _at(self, when: float, happen: Callable[[float], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._number, happen))

    def _key(self, now: float, user: int, pace: Pace, document: int, place: int) -> None:
        load, rng = self._load, self._rng
        if (old := self._current.get(user)) and not old.ended:
            old.ended = True
        prompt = random.Random(f"{load.seed}-{user}-{document}").choice(load.prompts)
        request = _Request(user, now, (user, document), prompt, 0, rng.choice(load.forwards), place == 0)
        self._current[user] = request
        self._give(now, request)
        after = pace.rest() if place == 0 else pace.key()
        following = (document, place + 1) if place < KEYS else (document + 1, 0)
        self._at(now + after, lambda then: self._key(then, user, pace, *following))

    def _give(self, now: float, request: _Request) -> None:
        there = [each for each in self._replicas if not each.lost]
        if not there:
            request.ended = True
            return
        if self._load.router == AFFINITY:
            # The highest of a hash of document and replica: a lost replica moves its own documents only.
            score = {
                id(each): random.Random(f"{request.document}-{self._replicas.index(each)}").random() for each in there
            }
            replica = max(there, key=lambda each: score[id(each)])
        else:
            self._turn += 1
            replica = there[self._turn % len(there)]
        request.hit = request.document in replica.cached
        request.unread = 1 if request.hit else request.prompt
        replica.work.append(request)
        self._step(now, replica)

    def _step(self, now: float, replica: _Replica) -> None:
        replica.work = [each for each in replica.work if not each.ended]
        if replica.stepping or replica.lost or not replica.work:
            return
        together = replica.work[:MOST_TOGETHER]
        rows = sum(min(each.unread, CHUNK_ROWS) if each.unread else self._load.rows for each in together)
        replica.stepping = True
        epoch = replica.epoch
        seconds = self._cost(rows) * self._crowding() / 1e3
        self._at(now + seconds, lambda then: self._stepped(then, replica, together, epoch))

    def _crowding(self) -> float:
        if self._load.cores is None:
            return 1.0
        busy = sum(each.stepping for each in self._replicas)
        return max(1.0, busy * self._load.threads / self._load.cores)

    def _stepped(self, now: float, replica: _Replica, together: Sequence[_Request], epoch: int) -> None:
        if replica.epoch != epoch:
            return
        replica.stepping = False
        for each in together:
            if each.unread:
                each.unread -= min(each.unread, CHUNK_ROWS)
                if not each.unread:
                    replica.cached.add(each.document)
            else:
                each.steps -= 1
            if each.steps <= 0 and not each.ended:
                each.ended = True
                ms = 1e3 * (now - each.at_s) + self._load.overhead_ms
                self._answers.append(Answered(each.at_s, ms, each.hit, each.first))
        self._step(now, replica)

    def _lose(self) -> None:
        replica = self._replicas[0]
        replica.lost, replica.stepping, replica.epoch = True, False, replica.epoch + 1
        for each in replica.work:
            each.ended = True
        replica.work, replica.cached = [], set()

    def _restore(self) -> None:
        self._replicas[0].lost = False


def summary(answers: Sequence[Answered]) -> dict[str, float]:
    """As `bench.team` sums up a run."""
    p50, p95 = map(float, np.percentile([each.ms for each in answers], (50, 95)))
    later = [each for each in answers if not each.first]
    return {
        "fill": len(answers),
        "hits": sum(each.hit for each in later) / max(1, len(later)),
        "p50_ms": p50,
        "p95_ms": p95,
    }
