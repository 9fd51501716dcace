"""A GPU's steps are a CPU's: the same rows, answers, numbers of steps and tau, whatever a request asks for. The model
is a tiny random one, and the ops are the kernels' references; that kernels are their references is tested apart.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
import torch

from dlsp_engine.decode.answer import Fill
from dlsp_engine.decode.budget import FIRST_ACCEPTANCE, Costs
from dlsp_engine.decode.draft import NO_DRAFT
from dlsp_engine.decode.session import Session
from dlsp_engine.decode.verify import Verified
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.model.adapter import Adapter
from dlsp_engine.model.architecture import Architecture
from dlsp_engine.model.bigrams import Bigrams
from dlsp_engine.model.gpu.step import GpuQwen2
from dlsp_engine.model.qwen2 import Qwen2
from dlsp_engine.model.weights import Weights
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import ByteTokenizer
from tests.constraints.cases import CONSTRAINTS

pytestmark = pytest.mark.usefixtures("one_thread")

# The verified tokens, alternatives as (offset, token), clean rows with a canvas, and a canvas's width, of a step.
Plan = tuple[int, tuple[tuple[int, int], ...], tuple[int, ...], int]

SHAPE = Architecture(layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, ff=48, vocab=262, theta=1e4, eps=1e-6)
CASES, CASES_OF_A_TEST = 200, 25
# What steps with more rows and canvases cost decides which rows `auto` takes: on a GPU nearly nothing, on a CPU much.
COSTS = (Costs((1, 32, 128), (0.5, 0.6, 1.4)), Costs((1, 8, 128), (10.0, 16.0, 90.0), 1.0, 0.2, 1e-4))
LINES = [
    "x = 1\n",
    "def area(w, h):\n    return w * h\n",
    "for name in names:\n    print(name)\n",
    "é = '日本'\n",
    "a, b",
]


@dataclass(frozen=True)
class Case:
    """What one request asks for, and what is typed before it is asked again on the same session."""

    gap: Gap
    options: Options
    constraint: int | None
    costs: Costs
    typed: int  # characters of the first answer; -1: the prompt is changed instead


def case(number: int) -> Case:
    rng = random.Random(number)
    lines = "".join(rng.choices(LINES, k=rng.randrange(1, 6)))
    # A cursor behind a part of a word: the answer must begin with bytes that are there already.
    prefix = lines * rng.randrange(1, 4) + rng.choice(["", "", "na", "    ret", "pri"])
    constrained = rng.random() < 0.3
    options = Options(
        mode=rng.choice(["verified"] * 6 + ["autoregressive", "diffusion"]),
        schedule=rng.choice(["auto", "split", "merged"]),
        draft=rng.randrange(5),
        copy=rng.random() < 0.7,
        end="token" if constrained else rng.choice(["token", "line", "block"]),
        max_tokens=rng.randrange(4, 32),
        temperature=rng.choice([0.0, 0.0, 0.0, 1.0]),
        seed=number,
    )
    asked = rng.randrange(len(CONSTRAINTS)) if constrained else None
    return Case(Gap(prefix, rng.choice(["", "\n", lines])), options, asked, rng.choice(COSTS), rng.randrange(-1, 4))


def engines(costs: Costs) -> tuple[Engine, Engine]:
    first, second = torch.randint(0, SHAPE.vocab, (2, 20_000), generator=torch.Generator().manual_seed(0)).numpy()
    adapter = replace(Adapter.random(SHAPE), bigrams=Bigrams.counted(first, second, SHAPE.vocab, 20_000))
    weights = Weights.random(SHAPE)
    models = (Qwen2(weights, adapter), GpuQwen2(weights, adapter, "cpu", fused=False, pages=400))
    host, device = (Engine(model, ByteTokenizer(), costs) for model in models)
    # A GPU reads a prompt in wider steps. The last of them has the first rows of the answer, and room for so many.
    device.backend.most_rows = host.backend.most_rows
    return host, device


@pytest.fixture(scope="module")
def pairs_of_engines() -> dict[Costs, tuple[Engine, Engine]]:
    return {costs: engines(costs) for costs in COSTS}


def filled(engine: Engine, asked: Case, gap: Gap, session: Session) -> tuple[Fill, list[Plan], Counter[str]]:
    """The answer, the plans of its steps if there are any, and which kinds of drafts they had."""
    engine.acceptance.canvas[:] = FIRST_ACCEPTANCE
    constraint = None if asked.constraint is None else engine.grammars(CONSTRAINTS[asked.constraint])
    request = engine.request(gap, replace(asked.options, constraint=constraint), session)
    plans: list[Plan] = []
    kinds: Counter[str] = Counter(healed=bool(engine.prompt(gap).forced), constrained=constraint is not None)
    failed = ""
    while not (request.done or failed):
        decoder = request.decoder
        drafted = decoder.draft if isinstance(decoder, Verified) else NO_DRAFT
        if drafted.tokens:
            kinds["canvas" if drafted.canvas else "recalled" if session.previous_answer else "copied"] += 1
        try:
            engine.step([request])
        except EngineError as error:  # the parts of the constraint contradict each other
            failed = str(error)
        if isinstance(decoder, Verified) and decoder._planned:
            plan = decoder._planned.plan
            others = tuple((node.offset, node.token) for node in plan.alternatives)
            plans.append((plan.verify, others, plan.canvas_after, plan.width))
    kinds["alternatives"] += sum(bool(others) for _, others, *_ in plans)
    return replace(request.outcome(), reason=failed or request.answer.reason), plans, kinds


def asked_in_turn(engine: Engine, asked: Case) -> Iterator[tuple[Fill, list[Plan], Counter[str]]]:
    """The gap; the same again, or after some of its answer was typed, or with another beginning of the prompt."""
    session = engine.new_session()
    yield (found := filled(engine, asked, asked.gap, session))
    gap = Gap("y" + asked.gap.prefix[1:], asked.gap.suffix) if asked.typed < 0 else None
    typed = replace(asked.gap, prefix=asked.gap.prefix + found[0].text[: max(0, asked.typed)])
    yield filled(engine, asked, gap or typed, session)


def check(pairs: dict[Costs, tuple[Engine, Engine]], number: int) -> Counter[str]:
    """Compare a case's two answers; returns how many steps and drafts of each kind there were."""
    asked = case(number)
    counts: Counter[str] = Counter(cases=1)
    for ours, theirs in zip(*(asked_in_turn(engine, asked) for engine in reversed(pairs[asked.costs])), strict=True):
        (fill, plans, kinds), (expected, expected_plans, _) = ours, theirs
        assert plans == expected_plans, number
        assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason), number
        for name in ("forwards", "rows", "tokens", "prompt_tokens", "cached_tokens", "tau"):
            assert getattr(fill.cost, name) == getattr(expected.cost, name), (number, name)
        log_p = [[sure for _, sure in each.confidence] for each in (fill, expected)]
        assert log_p[0] == pytest.approx(log_p[1], abs=1e-3)
        counts += Counter(
            steps=fill.cost.forwards, tokens=fill.cost.tokens, **{k: int(v > 0) for k, v in kinds.items()}
        )
        counts[f"schedule {asked.options.schedule}"] += 1
    return counts


@pytest.mark.prove
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(CASES // CASES_OF_A_TEST))
def test_answers_steps_and_tau_are_the_hosts(
    pairs_of_engines: dict[Costs, tuple[Engine, Engine]], part: int, record_property
):
    counts: Counter[str] = Counter()
    for number in range(part * CASES_OF_A_TEST, (part + 1) * CASES_OF_A_TEST):
        counts += check(pairs_of_engines, number)
    for name, count in counts.items():
        record_property(name, count)
    for name in ("canvas", "copied", "recalled", "alternatives", "healed", "constrained"):
        assert counts[name] > 1, name
    for schedule in ("auto", "split", "merged"):
        assert counts[f"schedule {schedule}"] > 1


@pytest.mark.parametrize("number", range(CASES, CASES + 6))
def test_some_cases(pairs_of_engines: dict[Costs, tuple[Engine, Engine]], number: int):
    assert check(pairs_of_engines, number)["cases"] == 1
