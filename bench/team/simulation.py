"""A team's server in virtual time: typists ask replicas whose steps cost what was measured.

A replica runs one step after another, with rows of each request in it: of a prompt that its cache lacks, as many as
take PREFILL_MS, then `rows` for each step that its answer takes. Typists ask at every key; the next key supersedes what
has not ended, as in `bench.team.typists`.

Besides its steps each request costs processor time on its way: in the ingress, which does one thing at a time, and in
the client, Ray's proxy and the replica's HTTP. Where `cores` are given, all this and the steps share them.
"""

import heapq
import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bench.replay.pace import REST_S, Pace

# As in the engine's `shared_step` and `scheduler`.
STEP_ROWS = 128
PREFILL_MS = 250
MIN_PREFILL_ROWS = 16
PREFILL_RESERVED_ROWS = 32
MAX_RUNNING = 32
FOUND_SHARE = 0.8  # of its prompt that a request finds read, if its session is there
AFFINITY, IN_TURN = "router", "round_robin"


@dataclass(frozen=True)
class Document:
    """What is written at one place: the prompt's tokens, and how many keys are typed after the first request."""

    prompt: int
    keys: int


@dataclass(frozen=True)
class Machine:
    """What steps cost. `cost` are the milliseconds of a step by its rows, `request_ms` those that each request in it
    adds. `cores` are shared by all replicas and by requests on their way; without, each has its own. All cores at work
    do `together` of what as many alone would do, since they share the memory."""

    cost: Callable[[float], float]
    request_ms: float = 0.0
    cores: int | None = None
    together: float = 1.0


@dataclass(frozen=True)
class Load:
    """What is asked: each user's documents, and `steps`, of which each answer takes one number by chance, with `rows`
    each. `ingress_ms` and `other_ms` are processor time of each request on its way. `rest_s` is the median time before
    the first key of a document."""

    replicas: int
    seconds: float
    documents: Sequence[Sequence[Document]]
    steps: Sequence[int]
    rows: float
    ingress_ms: float = 0.0
    other_ms: float = 0.0
    ingresses: int = 1
    router: str = AFFINITY
    rest_s: float = REST_S
    lost_at_s: float | None = None
    back_after_s: float = 15.0
    seed: int = 1


@dataclass
class _Request:
    user: int
    document: int
    at_s: float
    first: bool
    steps: int
    unread: int = 0
    left_out: int = 0
    hit: bool = False
    ended: bool = False

    @property
    def key(self) -> tuple[int, int]:
        return self.user, self.document


class _Part(NamedTuple):
    """A request's part of a step: rows of its prompt, and whether those of an answer's step too."""

    request: _Request
    prompt_rows: int
    answers: bool


@dataclass
class _Replica:
    number: int
    work: list[_Request] = field(default_factory=list)
    read: dict[tuple[int, int], int] = field(default_factory=dict)  # tokens of each document's prompt
    stepping: bool = False
    lost: bool = False
    lives: int = 0


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


def simulate(load: Load, machine: Machine) -> list[Answered]:
    """The answers to what was asked within the load's seconds."""
    return _Simulation(load, machine).run()


class _Cores:
    """Work that shares processors evenly. `milliseconds` is how much each task at work has had so far."""

    def __init__(self, cores: int | None, together: float) -> None:
        self._cores, self._together = cores, together
        self._tasks: list[tuple[float, int, Callable[[float], None]]] = []
        self._milliseconds, self._now, self._number = 0.0, 0.0, 0

    def add(self, now: float, milliseconds: float, then: Callable[[float], None]) -> None:
        self._advance(now)
        self._number += 1
        heapq.heappush(self._tasks, (self._milliseconds + milliseconds, self._number, then))

    def next_end(self) -> float:
        """When the first task ends, in seconds."""
        if not self._tasks:
            return float("inf")
        return self._now + max(0.0, self._tasks[0][0] - self._milliseconds) / 1e3 / self._speed()

    def end_one(self, now: float) -> None:
        self._advance(now)
        heapq.heappop(self._tasks)[2](now)

    def _advance(self, now: float) -> None:
        self._milliseconds += 1e3 * (now - self._now) * (self._speed() if self._tasks else 0.0)
        self._now = now

    def _speed(self) -> float:
        """How fast each task goes, of how fast it would go alone."""
        at_work = len(self._tasks)
        if self._cores is None or at_work == 1:
            return 1.0
        return self._together * min(1.0, self._cores / at_work)


class _Simulation:
    def __init__(self, load: Load, machine: Machine) -> None:
        self._load, self._machine = load, machine
        self._rng = random.Random(load.seed)
        self._cores = _Cores(machine.cores, machine.together)
        self._prefill_costs = [machine.cost(rows) for rows in range(1, STEP_ROWS + 1)]
        self._replicas = [_Replica(number) for number in range(load.replicas)]
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = self._turn = self._in_ingress = 0
        self._ingress: deque[Callable[[float], None]] = deque()
        self._current: dict[int, _Request] = {}
        self._written: set[tuple[int, int]] = set()  # documents with an answer
        self._answers: list[Answered] = []

    def run(self) -> list[Answered]:
        load = self._load
        for user in range(len(load.documents)):
            name = f"{load.seed}-{user}"
            self._at(
                random.Random(name).random() * max(1.0, load.rest_s), self._types(user, Pace(name, load.rest_s), 0, 0)
            )
        if load.lost_at_s is not None:
            self._at(load.lost_at_s, lambda _: self._lose())
            self._at(load.lost_at_s + load.back_after_s, lambda _: self._restore())
        while True:
            event, end = self._events[0][0] if self._events else float("inf"), self._cores.next_end()
            if min(event, end) == float("inf"):
                return self._answers
            if event <= end:
                now, _, happen = heapq.heappop(self._events)
                happen(now)
            else:
                self._cores.end_one(end)

    def _at(self, when: float, happen: Callable[[float], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (when, self._number, happen))

    def _types(self, user: int, pace: Pace, document: int, place: int) -> Callable[[float], None]:
        """A typist's next request, and when the one after it comes."""
        documents = self._load.documents[user]

        def now_types(now: float) -> None:
            if now > self._load.seconds or document >= len(documents):
                return
            self._supersede(now, user)
            first = (user, document) not in self._written
            request = _Request(user, document, now, first, self._rng.choice(self._load.steps))
            self._current[user] = request
            self._on_way(now, lambda then: self._arrive(then, request))
            after = pace.rest() if place == 0 else pace.key()
            following = (document, place + 1) if place < documents[document].keys else (document + 1, 0)
            self._at(now + after, self._types(user, pace, *following))

        return now_types

    def _supersede(self, now: float, user: int) -> None:
        if (old := self._current.get(user)) and not old.ended:
            old.ended = True
            self._on_way(now, lambda _: None)  # what ending it costs

    def _on_way(self, now: float, then: Callable[[float], None]) -> None:
        """Half of what a request costs on its way, there or back."""
        load = self._load

        def ingress(when: float) -> None:
            if self._in_ingress == load.ingresses:
                self._ingress.append(ingress)
                return
            self._in_ingress += 1
            self._cores.add(when, load.ingress_ms / 2, left)

        def left(when: float) -> None:
            self._in_ingress -= 1
            if self._ingress:
                self._ingress.popleft()(when)
            then(when)

        self._cores.add(now, load.other_ms / 2, ingress)

    def _arrive(self, now: float, request: _Request) -> None:
        there = [each for each in self._replicas if not each.lost]
        if request.ended or not there:
            request.ended = True
            return
        if self._load.router == AFFINITY:
            # The highest of a hash of document and replica: a lost replica moves its own documents only.
            replica = max(there, key=lambda each: random.Random(f"{request.key}-{each.number}").random())
        else:
            self._turn += 1
            replica = there[self._turn % len(there)]
        prompt = self._load.documents[request.user][request.document].prompt
        read = replica.read.get(request.key, 0)
        request.hit, request.unread = read >= FOUND_SHARE * prompt, max(0, prompt - read)
        replica.work.append(request)
        self._step(now, replica)

    def _step(self, now: float, replica: _Replica) -> None:
        replica.work = [each for each in replica.work if not each.ended]
        if replica.stepping or replica.lost or not replica.work:
            return
        parts, rows = self._parts(replica.work[:MAX_RUNNING])
        replica.stepping, lives = True, replica.lives
        ms = self._machine.cost(rows) + self._machine.request_ms * len(parts)
        self._cores.add(now, ms, lambda then: self._stepped(then, replica, parts, lives))

    def _parts(self, work: Sequence[_Request]) -> tuple[list[_Part], float]:
        """The requests in the next step, and the rows of all."""
        prefilling = [each for each in work if each.unread]
        decoding = sorted((each for each in work if not each.unread), key=lambda each: -each.left_out)
        parts, room, left_ms = list[_Part](), float(STEP_ROWS), float(PREFILL_MS)
        reserved = PREFILL_RESERVED_ROWS if prefilling else 0
        for each in decoding:
            each.left_out += 1
            if room - reserved >= self._load.rows or not parts:
                parts.append(_Part(each, 0, True))
                room -= self._load.rows
                each.left_out = 0
        for each in prefilling:
            if room < 1:
                break
            rows = min(each.unread, int(room), bisect_right(self._prefill_costs, left_ms))
            if rows < min(each.unread, MIN_PREFILL_ROWS):
                if left_ms < PREFILL_MS:
                    continue
                rows = min(each.unread, MIN_PREFILL_ROWS)
            answers = rows == each.unread and rows + self._load.rows <= room
            parts.append(_Part(each, rows, answers))
            left_ms -= self._prefill_costs[rows - 1]
            room -= rows + (self._load.rows if answers else 0)
        return parts, STEP_ROWS - room

    def _stepped(self, now: float, replica: _Replica, parts: Sequence[_Part], lives: int) -> None:
        if replica.lives != lives:
            return
        replica.stepping = False
        for part in parts:
            each = part.request
            each.unread -= part.prompt_rows
            replica.read[each.key] = replica.read.get(each.key, 0) + part.prompt_rows
            each.steps -= part.answers
            if each.steps == 0 and not each.ended:
                replica.work.remove(each)
                self._on_way(now, lambda then, each=each: self._answered(then, each))
        self._step(now, replica)

    def _answered(self, now: float, request: _Request) -> None:
        if not request.ended:
            request.ended = True
            self._written.add(request.key)
            ms = 1e3 * (now - request.at_s)
            self._answers.append(Answered(request.at_s, ms, request.hit, request.first))

    def _lose(self) -> None:
        replica = self._replicas[0]
        for each in replica.work:
            each.ended = True
        replica.lost, replica.stepping, replica.lives = True, False, replica.lives + 1
        replica.work, replica.read = [], {}

    def _restore(self) -> None:
        self._replicas[0].lost = False


def summary(answers: Sequence[Answered]) -> dict[str, float]:
    """As `bench.team` sums up a run."""
    p50, p95 = map(float, np.percentile([each.ms for each in answers] or [float("nan")], (50, 95)))
    later = [each for each in answers if not each.first]
    return {
        "fill": len(answers),
        "hits": sum(each.hit for each in later) / max(1, len(later)),
        "p50_ms": p50,
        "p95_ms": p95,
    }
