"""What a step should bring, by what it costs."""

from collections.abc import Sequence

import pytest

from dlsp_engine.decode.budget import FIRST_ACCEPTANCE, MEASURED_CONTEXT, Acceptance, Costs, StepPlan, best_plan
from dlsp_engine.decode.draft import Draft

CPU = Costs((1, 4, 8, 16, 32, 128), (27.6, 27.7, 34.5, 45.9, 77.4, 226.3), 1.9, 0.7)
DEAR = Costs((1, 128), (20.0, 140.0))
GPU = Costs((1, 128), (1.0, 1.1))
LINEAR = Costs((1, 128), (1.0, 128.0))


def plan(
    confidence: list[float],
    max_width: int,
    costs: Costs,
    acceptance: Acceptance,
    alternatives: Sequence[Sequence[tuple[int, float]]] = (),
    **how: int,
) -> StepPlan:
    """Of a draft so sure."""
    draft = Draft([*range(len(confidence))], confidence, alternatives)
    return best_plan(draft.nodes(), max_width, costs, acceptance, **how)


def test_costs_between_and_beyond_the_measured_rows():
    costs = Costs((1, 4, 8), (10.0, 16.0, 24.0), canvas=2.0, canvas_row=0.5)
    assert [costs(1), costs(2), costs(6), costs(16)] == [10, 12, 20, 48]
    assert costs(1, 3) == 16 + 2 + 1.5


def test_costs_behind_a_longer_context():
    costs = Costs((1, 4, 8), (10.0, 16.0, 24.0), canvas=2.0, canvas_row=0.5, row_key=0.01)
    assert costs.behind(MEASURED_CONTEXT)(6, 2) == costs(6, 2)
    assert costs.behind(MEASURED_CONTEXT + 300)(6, 2) == pytest.approx(costs(6, 2) + 8 * 3)
    assert [costs.rows_within(ms, 8) for ms in (9, 10, 20, 24, 99)] == [0, 1, 6, 8, 8]


def test_where_rows_are_dear_nothing_is_drafted():
    assert plan([], 4, LINEAR, Acceptance()).width == 0
    assert plan([], 4, LINEAR, Acceptance()).canvas_after == ()


def test_where_nothing_ever_stands_nothing_is_drafted():
    hopeless = Acceptance(canvas=[0.0] * 4)
    assert plan([], 4, CPU, hopeless).canvas_after == ()
    assert plan([], 4, CPU, Acceptance()).canvas_after == (0,)


def test_cheap_rows_carry_a_canvas_wherever_acceptance_may_stop():
    planned = plan([0.6, 0.5], 4, GPU, Acceptance())
    assert planned.verify == 2
    assert planned.canvas_after == (0, 1, 2)


def test_dear_rows_carry_one_only_where_it_is_nearly_sure_to_be_needed():
    assert plan([0.5, 0.5, 0.5], 4, DEAR, Acceptance()).canvas_after == ()
    assert plan([0.97, 0.97], 4, DEAR, Acceptance()).canvas_after == (2,)
    assert plan([0.03, 0.5], 4, DEAR, Acceptance()).canvas_after == (0,)


def test_an_unlikely_tail_is_not_verified_where_rows_cost():
    long = [0.9, 0.9, 0.9, 0.05, 0.05, 0.05, 0.05, 0.05]
    assert plan(long, 4, CPU, Acceptance()).verify == 3
    assert plan(long, 4, Costs((1, 128), (1.0, 1.0)), Acceptance()).verify == 8


def test_a_canvas_replaces_an_unlikely_draft():
    assert plan([0.1, 0.1], 4, CPU, Acceptance(), min_verified=0) == plan([], 4, CPU, Acceptance())
    assert plan([0.1, 0.1], 4, CPU, Acceptance(), min_verified=1).verify >= 1
    assert plan([0.9, 0.1], 4, CPU, Acceptance(), min_verified=0).verify >= 1


def test_what_is_likelier_is_verified_first():
    """An alternative to the first token before the third of the run."""
    beside = [[(7, 0.35), (8, 0.01)], [(9, 0.4)], []]
    planned = plan([0.6, 0.5, 0.5], 0, DEAR, Acceptance(), beside)
    assert planned.verify + len(planned.alternatives) < 6
    nodes = Draft([0, 1, 2], [0.6, 0.5, 0.5], beside).nodes()
    assert [(node.offset, node.token) for node in nodes] == [(0, 0), (0, 7), (1, 1), (1, 9), (2, 2), (0, 8)]
    assert [node.probability for node in nodes] == pytest.approx([0.6, 0.35, 0.3, 0.24, 0.15, 0.01])


def test_alternatives_are_added_where_rows_are_cheap():
    beside = [[(7, 0.3), (8, 0.05)]]
    dear, cheap = (plan([0.6], 4, costs, Acceptance(), beside) for costs in (LINEAR, GPU))
    assert (dear.verify, dear.alternatives) == (1, ())
    assert (cheap.verify, [node.token for node in cheap.alternatives]) == (1, [7, 8])
    assert cheap.canvas_after == (0, 1, 2, 3), "acceptance may stop at each"


def test_a_canvas_follows_an_alternative_that_is_likely_enough():
    planned = plan([0.1], 4, DEAR, Acceptance(), [[(7, 0.85)]], min_verified=0)
    assert [node.token for node in planned.alternatives] == [7]
    assert (planned.verify, planned.canvas_after) == (1, (2,)), "the last of three clean rows"


def test_a_width_of_none_lays_none():
    assert plan([], 0, GPU, Acceptance()).canvas_after == ()
    assert plan([0.9], 0, GPU, Acceptance()).canvas_after == ()


def test_experience_moves_the_averages_by_offset():
    seen = Acceptance()
    for _ in range(400):
        seen.record(drafted=4, accepted=1)
    assert seen.canvas[0] > 0.99
    assert seen.canvas[1] < 0.01
    assert seen.canvas[2:] == list(FIRST_ACCEPTANCE[2:]), "what was not reached says nothing"
    assert seen.expected(4) == pytest.approx(1, abs=0.02)


def test_without_an_adapter_there_is_no_canvas(tiny):
    from dlsp_engine import Engine, Gap, Options
    from dlsp_engine.model.qwen2 import Qwen2

    bare = Engine(Qwen2(tiny.model.weights), tiny.tokenizer)
    fill = bare.fill(Gap("x = 1;", "\n"), Options(copy=False, max_tokens=8))
    assert fill.cost.rows == fill.cost.forwards
