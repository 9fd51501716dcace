"""What a request asks of a step, and what it says that it took."""

import time

import pytest

from dlsp_engine import Engine, Gap, Options
from dlsp_engine.backend import STEP_ROWS
from dlsp_engine.decode.budget import Acceptance, Costs, best_plan
from dlsp_engine.decode.draft import Draft
from dlsp_engine.options import MODES


def test_the_time_of_drafting_is_part_of_the_decoding(tiny: Engine):
    """It is what `verified` pays for its fewer steps."""
    asked: list[int] = []

    def slow(tokens: list[int]) -> tuple[list[int], list[float]]:
        asked.append(len(tokens))
        time.sleep(0.02)
        return [], []

    fill = tiny.fill(Gap("def f(x):\n    ret", "\n"), Options(max_tokens=4), drafter=slow)
    while_decoding = asked[1:]  # the first is asked before the prompt is read
    assert fill.cost.decode_ms >= 20 * len(while_decoding) > 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tokens", [3, 60, 120, 128, 129, 200, 300])
def test_the_end_of_a_prompt_is_read_with_what_is_asked(tiny: Engine, tokens: int, mode: str):
    gap, options = Gap("a" * (tokens - 2), ""), Options(mode=mode, max_tokens=5)
    request = tiny.request(gap, options)
    assert request.cost.prompt_tokens == tokens
    steps = 0
    while not request.cost.forwards:
        tiny.step([request])
        steps += 1
    alone = len(request.decoder.plan(1)) + 8  # rows that are asked
    assert -(-tokens // STEP_ROWS) <= steps <= -(-(tokens + alone) // STEP_ROWS)
    assert request.cost.rows <= alone, "the prompt's do not count"
    assert request.cost.prefill_ms > 0
    while not request.done:
        tiny.step([request])
    assert request.outcome().tokens == tiny.fill(gap, options, tiny.prefilled(gap)).tokens


def test_it_stands_apart_where_that_is_wanted(tiny: Engine):
    request = tiny.request(Gap("a = 1\n", ""), Options(schedule="split"))
    left = len(request.session.pending) - 1
    assert len(request.plan(STEP_ROWS, 1, separate_prefill=True).rows) == left
    assert len(request.plan(STEP_ROWS, 1).rows) == left + 1 + Options().draft
    assert len(request.plan(left, 1).rows) == left, "where there is no room"


def test_rows_beside_are_paid_for(tiny: Engine):
    """What is nearly free in a narrow step is not in a wide one."""
    costs, acceptance = Costs((1, 8, 128), (20, 21, 160)), Acceptance([0.3])
    draft = Draft([1, 2, 3, 4], [0.9, 0.5, 0.2, 0.2]).nodes()
    alone, wide = (best_plan(draft, 0, costs, acceptance, prompt_rows=rows).verify for rows in (0, 60))
    assert alone == 4
    assert wide == 3
