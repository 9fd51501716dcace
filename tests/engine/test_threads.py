"""As many threads as cores, fewer on battery, or what was asked for."""

import os
from types import SimpleNamespace

import psutil
import pytest
import torch

from dlsp_engine import Gap, Options, threads
from dlsp_engine.decode.budget import Costs
from dlsp_engine.engine import Engine

pytestmark = pytest.mark.usefixtures("threads_after")


def test_physical_cores_that_may_be_used(monkeypatch):
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)), raising=False)
    assert threads.physical() == 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    assert threads.physical() == 2
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: None)
    assert threads.physical() == 2


@pytest.mark.parametrize(("plugged", "expected"), [(True, 8), (None, 8), (False, 4)])
def test_half_on_battery(monkeypatch, plugged, expected):
    monkeypatch.setattr(threads, "physical", lambda: 8)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(power_plugged=plugged), raising=False)
    assert threads.use(0) == expected
    assert torch.get_num_threads() == expected


def test_what_was_asked_for():
    assert threads.use(3) == 3
    assert torch.get_num_threads() == 3


def test_a_step_takes_the_threads_that_it_is_worth(tiny: Engine, monkeypatch):
    seen: dict[int, int] = {}
    forward = tiny.model.forward

    def watched(batch):
        seen[sum(len(rows) for _, rows in batch)] = torch.get_num_threads()
        return forward(batch)

    monkeypatch.setattr(tiny.model, "forward", watched)
    torch.set_num_threads(4)
    engine = Engine(tiny.model, tiny.tokenizer, Costs((1, 16, 128), (1, 2, 3), threads=(1, 2, 4)))
    engine.fill(Gap("x = 1\n" * 60, "\n"), Options(mode="autoregressive", max_tokens=4))
    assert seen[1] == 1
    assert {threads for rows, threads in seen.items() if rows > 16} == {4}
    assert torch.get_num_threads() == 4
