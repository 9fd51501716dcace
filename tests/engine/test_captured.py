"""Steps done again from their captures: the same bits as layer by layer."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
import torch
from torch import Tensor

from dlsp_engine.backend import STEP_ROWS, Interrupted, interruptible
from dlsp_engine.model import captured
from dlsp_engine.model.cache import Cache
from dlsp_engine.model.captured import CapturedSteps
from dlsp_engine.model.int8 import Int8Qwen2
from dlsp_engine.model.rows import MASK, Rows
from dlsp_kernels.program.instructions import usable
from tests.engine.test_int8 import int8

pytestmark = pytest.mark.skipif(usable() is None, reason="no program runs here")

SHAPES = [(1, 0), (1, 4), (5, 4), (3, 12), (40, 0), (127, 0), (130, 4)]


@pytest.fixture(params=[8, 4])
def model(tiny, request: pytest.FixtureRequest) -> Int8Qwen2:
    """With weights of 8 and of 4 bits."""
    return int8(tiny.model, bits=request.param)


def step(model: Int8Qwen2, clean: int, canvas: int, salt: int, sessions: int = 1) -> Tensor:
    """Hidden states of rows behind some cached ones, then of the row after those: its keys are theirs."""
    batch: list[tuple[Cache, Rows]] = []
    for session in range(sessions):
        cache, before, rows = model.new_cache(), Rows(), Rows()
        before.add_clean([(salt + 3 * i + session) % 250 for i in range(20 + salt)], 0)
        model.forward([(cache, before)])
        cache.length = 20 + salt
        rows.add_clean([(salt * 7 + i) % 250 for i in range(clean)], cache.length)
        if canvas:
            rows.add_canvas([MASK] * canvas, after=cache.length + clean - 1)
        batch.append((cache, rows))
    found = [model.forward(batch)]
    for cache, _ in batch:
        cache.length += clean
        last = Rows()
        last.add_clean([salt], cache.length)
        found.append(model.forward([(cache, last)]))
    return torch.cat(found)


def clean_rows(count: int) -> Rows:
    rows = Rows()
    rows.add_clean(list(range(count)), 0)
    return rows


def by_layers(model: Int8Qwen2, wanted: Callable[[], Tensor]) -> Tensor:
    steps, model._step = model._step, model._layer_by_layer
    try:
        return wanted()
    finally:
        model._step = steps


@pytest.mark.parametrize("sessions", [1, 3])
def test_they_give_the_same_bits(model: Int8Qwen2, sessions: int):
    assert isinstance(model._step, CapturedSteps)
    for turn in range(3):
        for clean, canvas in SHAPES:

            def wanted(clean: int = clean, canvas: int = canvas, turn: int = turn) -> Tensor:
                return step(model, clean, canvas, salt=11 * turn, sessions=sessions)

            assert torch.equal(wanted(), by_layers(model, wanted)), (clean, canvas, turn)


def test_the_longest_waiting_shape_is_forgotten(model: Int8Qwen2, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(captured, "MAX_CAPTURES", 2)
    steps = model._step
    assert isinstance(steps, CapturedSteps)
    for turn in range(2):
        for clean in (1, 1, 2, 3, 2, 2):
            found = step(model, clean, 4, turn)
            assert torch.equal(found, by_layers(model, lambda clean=clean, turn=turn: step(model, clean, 4, turn)))
            assert len(steps._known) <= 2


@pytest.mark.usefixtures("threads_after")
def test_other_threads_are_another_shape(model: Int8Qwen2):
    for threads in (1, 3, 1, 2):
        torch.set_num_threads(threads)
        assert torch.equal(step(model, 5, 4, 3), by_layers(model, lambda: step(model, 5, 4, 3)))


def test_a_second_thread_does_without(model: Int8Qwen2):
    wanted = by_layers(model, lambda: step(model, 4, 8, 1))
    with ThreadPoolExecutor(4) as threads:
        found = [threads.submit(step, model, 4, 8, 1) for _ in range(40)]
        assert all(torch.equal(each.result(), wanted) for each in found)


def test_every_step_is_narrow_enough():
    assert captured.MAX_ROWS >= STEP_ROWS


def test_narrower_steps_take_the_memory_of_wider_ones(model: Int8Qwen2):
    steps = model._step
    assert isinstance(steps, CapturedSteps)

    def taken(clean: int) -> int:
        """Blocks, when it has come often enough."""
        for _ in range(2):
            step(model, clean, 4, 0)
        return len(steps._memory._blocks)

    blocks = taken(124)
    assert blocks > 0
    assert all(taken(clean) == blocks for clean in (100, 1, 40, 70, 3, *range(1, 60)))


def test_a_shape_is_captured_when_it_comes_again(model: Int8Qwen2):
    steps = model._step
    assert isinstance(steps, CapturedSteps)
    for turn in range(3):
        model.forward([(model.new_cache(), clean_rows(7))])
        assert [bool(known) for known in steps._known.values()] == [turn > 0]


@pytest.mark.parametrize("looks", [1, 2])
def test_a_step_that_was_left_gives_the_same_bits_when_it_runs_again(model: Int8Qwen2, looks: int):
    """Whether it was the first of its shape, was captured, or was a replay."""
    expected = by_layers(model, lambda: model.forward([(model.new_cache(), clean_rows(9))]))
    for _ in range(3):
        cache, looked = model.new_cache(), count(1)
        with pytest.raises(Interrupted), interruptible(lambda looked=looked: next(looked) >= looks):
            model.forward([(cache, clean_rows(9))])
        assert next(looked) == looks + 1
        assert torch.equal(model.forward([(cache, clean_rows(9))]), expected)
