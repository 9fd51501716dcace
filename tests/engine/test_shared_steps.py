"""Sessions that share steps: each gets what it gets alone, and what prompts have in common is prefilled once."""

import random
from dataclasses import replace

import pytest

from dlsp_engine.backend import STEP_ROWS, RowsStep
from dlsp_engine.decode.budget import Costs
from dlsp_engine.engine import Engine
from dlsp_engine.options import MODES, SCHEDULES, Options
from dlsp_engine.request import GapRequest
from dlsp_engine.shared_step import MIN_PREFILL_ROWS, PREFILL_MS, SHORT_STEP_TIMES, share_step
from dlsp_engine.text.prompt import File, Gap

FILES = (File("a.py", "import os\n\n\ndef area(w, h):\n    return w * h\n" * 9), File("b.py", "x = 1\n" * 20))
WORDS = ["def f(x):\n    ret", "area(1, 2)\n", "x = [1, 2, 3]\n", "é = '日本'\n", "    ", "", "name"]


class Counted(Engine):
    """Counts the rows of its steps, and looks at the budget."""

    def step(self, requests, sharing=None, short=False):
        planned = share_step(requests, self.backend.costs, STEP_ROWS, sharing)
        rows = sum(len(step.rows) for _, step in planned if isinstance(step, RowsStep))
        assert rows <= STEP_ROWS or len(planned) == 1
        self.rows = getattr(self, "rows", 0) + rows
        return super().step(requests, sharing, short)


@pytest.fixture
def engine(tiny: Engine) -> Counted:
    # Rows that are nearly free up to some ten of them, as int8 has it, so that sharing changes the plans.
    return Counted(tiny.model, tiny.tokenizer, Costs((1, 5, 16, 128), (27, 29, 46, 227)))


def some_gap(rng: random.Random) -> Gap:
    files = rng.choice([(), FILES[:1], FILES, FILES[1:]])
    texts = ["".join(rng.choices(WORDS, k=rng.randrange(12))) for _ in range(3)]
    return Gap(texts[0], texts[1], texts[2] if rng.random() < 0.3 else "", "c.py", files)


def some_options(rng: random.Random) -> Options:
    return Options(
        mode=rng.choice(MODES),
        schedule=rng.choice(SCHEDULES),
        draft=rng.randrange(5),
        copy=rng.random() < 0.5,
        end=rng.choice(["token", "line"]),
        max_tokens=rng.randrange(1, 24),
        temperature=rng.choice([0, 0, 1.0]),
        seed=rng.randrange(99),
    )


@pytest.mark.parametrize("seed", range(12))
def test_arriving_cancelled_or_finishing_each_gets_what_it_gets_alone(engine: Counted, seed: int):
    """Invariants 1 and 2 in a batch: at any moment requests come and go, in any mode, with prompts that begin alike."""
    rng = random.Random(seed)
    waiting = [(some_gap(rng), some_options(rng)) for _ in range(14)]
    running: list[GapRequest] = []
    asked: dict[GapRequest, tuple[Gap, Options]] = {}
    ended: list[GapRequest] = []
    left = 0
    while waiting or running:
        for _ in range(rng.choice([0, 0, 1, 3]) if running else 1):
            if waiting:
                gap, options = waiting.pop()
                request = engine.request(gap, options)
                asked[request] = gap, options
                running.append(request)
        if running and rng.random() < 0.03:
            running.remove(rng.choice(running))
            left += 1
            continue
        rng.shuffle(running)
        engine.step(running)
        ended += [request for request in running if request.done]
        running = [request for request in running if not request.done]
    assert len(ended) + left == 14
    alone = Engine(engine.model, engine.tokenizer)
    for request in ended:
        gap, options = asked[request]
        expected = alone.fill(gap, replace(options, mode="autoregressive") if options.mode == "verified" else options)
        assert (request.outcome().tokens, request.outcome().reason) == (expected.tokens, expected.reason), (
            gap,
            options,
        )


@pytest.mark.parametrize("tokens", [1, 2])
def test_a_common_prefix_is_prefilled_once(engine: Counted, tokens: int):
    """With one token a request ends in the very step that reads the end of its prompt."""
    gaps = [Gap(f"y{n} = area(", f")\nprint(y{n})\n", path="c.py", files=FILES) for n in range(8)]
    options = Options(mode="autoregressive", max_tokens=tokens)
    requests = [engine.request(gap, options) for gap in gaps]
    common = requests[0].session.shares(requests[1].session)
    own = sum(request.cost.prompt_tokens - common for request in requests)
    assert common > 500
    while running := [request for request in requests if not request.done]:
        engine.step(running)
    assert engine.rows <= common + own + 2 * len(requests)
    assert [request.cost.cached_tokens for request in requests] == [0] + [common] * 7


def test_who_waited_for_one_that_left_prefills_by_itself(engine: Counted):
    gaps = [Gap(f"y{n} = area(", ")\n", path="c.py", files=FILES) for n in range(2)]
    options = Options(max_tokens=4)
    first, second = (engine.request(gap, options) for gap in gaps)
    engine.step([first, second])
    assert (first.session.cache.length, second.session.cache.length) == (STEP_ROWS, 0)
    while not second.done:
        engine.step([second])
    assert second.outcome().tokens == engine.fill(gaps[1], options).tokens
    assert second.cost.cached_tokens == 0


def test_rows_of_prompts_are_bounded_by_time_at_any_length(tiny: Engine):
    """So a request that is cancelled ends soon, however long its prompt is."""
    costs = Costs((1, 128), (10, 137), row_key=0.01)
    engine = Engine(tiny.model, tiny.tokenizer, costs)
    options = Options(mode="autoregressive", max_tokens=1)
    request = engine.request(Gap("x = 1\n" * 400, ""), options)
    other = engine.request(Gap("y = 2\n" * 400, ""), options)
    widths = []
    while request.prefilling:
        planned = share_step([request, other], costs, STEP_ROWS)
        steps = [step for _, step in planned if isinstance(step, RowsStep)]
        took = sum(costs.behind(step.cache.length)(len(step.rows)) for step in steps)
        assert took <= PREFILL_MS or [len(step.rows) for step in steps] == [MIN_PREFILL_ROWS]
        widths.append(len(steps[0].rows))
        engine.step([request, other])
    assert widths[0] == STEP_ROWS
    assert widths[-2] == MIN_PREFILL_ROWS, "behind 2,000 tokens a row takes 20 ms"
    assert widths[:-1] == sorted(widths[:-1], reverse=True)
    assert len(set(widths)) > 5
    while not other.done:
        engine.step([other])
    assert other.outcome().tokens


def test_a_prompt_behind_a_long_context_leaves_room_for_nobody_until_it_is_its_turn(tiny: Engine):
    """Each of two prompts that together take too long gets steps, the later one when the earlier is done."""
    costs = Costs((1, 128), (10, 260))
    engine = Engine(tiny.model, tiny.tokenizer, costs)
    first, second = (engine.request(Gap(f"{name} = 1\n" * 60, ""), Options(max_tokens=1)) for name in "xy")
    assert engine.step([first, second]) == [first]
    while not (first.done and second.done):
        engine.step([one for one in (first, second) if not one.done])


def test_decoding_is_not_held_up_by_prefilling(engine: Counted):
    decoding = engine.request(Gap("x", ""), Options(max_tokens=50))
    while not decoding.cost.forwards:
        engine.step([decoding])
    long = engine.request(Gap("a = 1\n" * 200, ""), Options(max_tokens=4))
    for number in range(1, 5):
        assert decoding in engine.step([long, decoding])
        assert number * 100 < long.session.cache.length < number * STEP_ROWS, "and the rest of the step is not wasted"


def test_a_shared_step_costs_each_its_part():
    costs = Costs((1, 5, 16, 128), (27, 29, 46, 227), canvas=2, canvas_row=0.5)
    assert costs.shared(1) == costs
    for sessions in (2, 8):
        for clean, canvas in ((1, 0), (2, 0), (1, 4), (16, 0), (40, 0)):
            whole = costs(sessions * clean, sessions * canvas)
            assert costs.shared(sessions)(clean, canvas) == pytest.approx(whole / sessions)


def test_drafts_that_pay_alone_are_left_out_where_many_share_a_step(engine: Counted):
    """One row more is nearly free for one session, and not for sixteen."""
    engine.acceptance.canvas[:] = [0.7, 0.5, 0.35, 0.3]
    gap = Gap("x = 1;", "\n")
    request = engine.request(gap, Options(copy=False), engine.prefilled(gap))
    assert len(request.plan(STEP_ROWS, 1).rows) > 1
    assert len(request.plan(STEP_ROWS, 16).rows) == 1


def test_many_answers_in_a_full_step_take_turns_and_starve_no_prompt(engine: Counted):
    wide = Options(schedule="merged", draft=4, copy=False, max_tokens=200)
    decoding = [engine.request(Gap(f"x{n} = 1;", ""), wide) for n in range(32)]
    while any(one.prefilling for one in decoding if not one.done):
        engine.step([one for one in decoding if not one.done])
    long = engine.request(Gap("a = 1\n" * 400, ""), Options(max_tokens=4))
    assert sum(not one.done for one in decoding) > 20
    waited = dict.fromkeys(decoding, 0)
    prefilled = 0
    for _ in range(40):
        live = [one for one in decoding if not one.done]
        stepped = engine.step([*live, long])
        assert long in stepped
        assert long.session.cache.length >= prefilled + 30
        prefilled = long.session.cache.length
        for one in live:
            waited[one] = 0 if one in stepped else waited[one] + 1
            assert waited[one] < len(live), "each step has room for one at least"


def test_short_steps_take_turns_and_go_on_with_prompts(engine: Counted):
    """While somebody types, steps are so short that the next keystroke hardly waits for one."""
    decoding = [engine.request(Gap(f"x{n} = 1;", ""), Options(max_tokens=40)) for n in range(32)]
    while any(one.prefilling for one in decoding if not one.done):
        engine.step([one for one in decoding if not one.done])
    long = engine.request(Gap("a = 1\n" * 100, ""), Options(max_tokens=4))
    costs, prefilled = engine.backend.costs, 0
    waited = dict.fromkeys(decoding, 0)
    for _ in range(60):
        live = [one for one in decoding if not one.done]
        rows = {one: one.rows_run for one in [*live, long]}
        stepped = engine.step([*live, long], short=True)
        run = sum(one.rows_run - rows[one] for one in stepped)
        assert run <= MIN_PREFILL_ROWS or costs(run) <= SHORT_STEP_TIMES * costs(1)
        assert long in stepped
        assert long.done or long.rows_run > prefilled
        prefilled = long.rows_run
        for one in live:
            waited[one] = 0 if one in stepped else waited[one] + 1
            assert waited[one] < len(decoding)
        if long.done:
            break
    assert long.done
