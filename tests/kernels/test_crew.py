"""The threads that share the items of a program: every item once, whoever comes, and nobody waits for who does not."""

# pyright: reportArgumentType=false
# llvmlite's types are found wrongly.

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import pytest
import torch
from llvmlite import ir
from torch import Tensor

from dlsp_kernels.program.compiled import compiled
from dlsp_kernels.program.crew import Crew, crew, leading, workers
from dlsp_kernels.program.instructions import usable
from dlsp_kernels.program.system import System
from dlsp_kernels.program.writing import INT, LONG, Entry, at, load, store

pytestmark = [
    pytest.mark.skipif(usable() is None, reason="no program runs here"),
    pytest.mark.usefixtures("threads_after"),
]

SECONDS = 20


def here() -> System:
    system = System.here()
    assert system
    return system


@cache
def counting() -> Callable[..., None]:
    """Adds one to the count of each item, and tells the worker."""
    module = ir.Module()
    entry = Entry.of(module, "counts who", "")
    b, (counts, who) = entry.b, entry.given
    with entry.each() as item:
        place = b.mul(item, LONG(4))
        store(b, b.add(load(b, at(b, counts, place), INT), INT(1)), at(b, counts, place))
        store(b, b.trunc(entry.worker, INT), at(b, who, place))
    b.ret_void()
    kind = usable()
    assert kind
    return compiled(str(module), "counts who", "", kind)


def counted(items: int, alone: int = 0) -> tuple[Tensor, Tensor]:
    """How often each item was done, with some behind that are none, and by whom."""
    counts, who = torch.zeros(items + 8, dtype=torch.int32), torch.zeros(items + 8, dtype=torch.int32)
    counting()(counts, who, items=items, alone=alone)
    return counts, who


def once(items: int) -> Tensor:
    return (torch.arange(items + 8) < items).int()


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_every_item_is_done_once(threads: int):
    torch.set_num_threads(threads)
    for turn in range(50):
        for items in (0, 1, 2, 7, 64, 1000 + turn):
            counts, who = counted(items)
            assert torch.equal(counts, once(items))
            assert int(who.max()) < threads


def test_several_callers_at_once():
    torch.set_num_threads(3)

    def call(turn: int) -> bool:
        return all(torch.equal(counted(items)[0], once(items)) for items in range(1, 400, 7))

    with ThreadPoolExecutor(4) as callers:
        assert all(callers.map(call, range(8)))


def test_helpers_come():
    """On a busy machine they may take long."""
    torch.set_num_threads(2)
    until = time.monotonic() + SECONDS
    while not int(counted(1_000_000)[1].max()):
        assert time.monotonic() < until, "the caller did all of it for as long as this"


def test_few_items_are_the_callers():
    torch.set_num_threads(4)
    assert all(not int(counted(16, alone=16)[1].max()) for _ in range(1000))


def test_nobody_waits_for_a_helper_that_does_not_come(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Crew, "_hire", lambda self, helpers: None)
    torch.set_num_threads(256)
    assert torch.equal(counted(100_000)[0], once(100_000))


def test_helpers_sleep_when_there_is_nothing_to_do():
    torch.set_num_threads(4)
    counted(1_000_000)
    time.sleep(0.1)
    before = time.process_time()
    time.sleep(0.5)
    assert time.process_time() - before < 0.1
    assert torch.equal(counted(1_000_000)[0], once(1_000_000)), "and wake"


def test_who_leads_has_pytorchs_threads_for_the_crew():
    torch.set_num_threads(3)
    with leading():
        assert workers() == 3
        assert torch.get_num_threads() == 1
    assert workers() == torch.get_num_threads() == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_does_its_items_alone():
    torch.set_num_threads(2)
    counted(1_000_000)
    child = os.fork()
    if not child:
        os._exit(0 if torch.equal(counted(10_000)[0], once(10_000)) else 1)
    until = time.monotonic() + SECONDS
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert ended[1] == 0


def test_a_process_ends_while_helpers_spin():
    code = (
        "import torch; torch.set_num_threads(4)\n"
        "from tests.kernels.test_crew import counted\n"
        "for _ in range(100): counted(10_000)\n"
    )
    for _ in range(3):
        assert subprocess.run([sys.executable, "-c", code], timeout=SECONDS, check=False).returncode == 0


def test_helpers_can_be_dismissed_while_somebody_works_on(monkeypatch: pytest.MonkeyPatch):
    own, stop = Crew(here()), threading.Event()
    monkeypatch.setattr("dlsp_kernels.program.compiled.crew", lambda: own)
    program, counts, who = counting.__wrapped__(), torch.zeros(10_000, dtype=torch.int32), torch.zeros(10_000).int()

    def work() -> int:
        torch.set_num_threads(3)
        done = 0
        while not stop.is_set():
            program(counts, who, items=10_000)
            done += 1
        return done

    with ThreadPoolExecutor(1) as worker:
        working = worker.submit(work)
        time.sleep(0.3)
        began = time.monotonic()
        own.dismiss()
        took = time.monotonic() - began
        assert not any(helper.is_alive() for helper in own._helpers)
        time.sleep(0.1)
        stop.set()
        assert (counts == working.result()).all(), "and the worker goes on alone"
    assert took < SECONDS / 4


def test_dismissed_helpers_are_gone():
    own = Crew(here())
    torch.set_num_threads(3)
    own._hire(2)
    time.sleep(0.05)  # one sleeps, or spins still
    own.dismiss()
    assert not any(helper.is_alive() for helper in own._helpers)
    assert crew() is not own
