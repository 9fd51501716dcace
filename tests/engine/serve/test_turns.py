"""Whose ticket runs next."""

import random
import time
from dataclasses import dataclass

import pytest

from dlsp_engine.serve.turns import Turns


@dataclass
class Queued:
    client: str
    number: int = 1
    priority: int = 0


def first(turns: Turns, *clients: str) -> str:
    return turns.order([Queued(client) for client in clients], newest_only=False)[0].client


def test_one_of_each_client_in_turn():
    tickets = [Queued("a", 1), Queued("a", 2), Queued("a", 3), Queued("b", 4)]
    assert [one.number for one in Turns().order(tickets, newest_only=False)] == [1, 4, 2, 3]
    assert [one.number for one in Turns().order(tickets, newest_only=True)] == [3, 4]


def test_an_older_request_runs_beside_newer_ones_in_the_end(monkeypatch: pytest.MonkeyPatch):
    """However many come after it."""
    now, turns = 0.0, Turns()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    runs: list[list[int]] = []
    for newest in range(2, 9):
        tickets = [Queued("a", 1), Queued("a", newest), Queued("b", 100)]
        runs.append([each.number for each in turns.order(tickets, newest_only=True)])
        now += 0.5
    assert runs[:5] == [[newest, 100] for newest in range(2, 7)]
    assert runs[5:] == [[7, 100, 1], [8, 100, 1]]


def test_shares_are_equal_whatever_a_turn_takes():
    rng, turns = random.Random(1), Turns()
    had = dict.fromkeys("abc", 0)
    for _ in range(3000):
        client = first(turns, *had)
        rows = rng.randrange(1, 128) if client == "a" else rng.randrange(1, 9)
        had[client] += rows
        turns.charge(client, rows)
    assert max(had.values()) - min(had.values()) <= 128


def test_nobody_saves_up_rows_nor_pays_for_those_of_others():
    turns = Turns()
    for _ in range(100):
        turns.charge(first(turns, "a"), 10)
    order = []
    for _ in range(20):
        order.append(first(turns, "a", "b"))
        turns.charge(order[-1], 10)
    assert order.count("a") == order.count("b") == 10
    assert "aaa" not in "".join(order)
    assert "bbb" not in "".join(order)
