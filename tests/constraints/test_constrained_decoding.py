"""Constrained verified decoding is constrained autoregressive decoding, whatever is drafted: `make prove
PART=constraints`. The model is a tiny one that has learned nothing, so it wants what a constraint forbids all the time.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from dlsp_engine.decode.constraint import Requirement
from dlsp_engine.decode.draft import Drafter
from dlsp_engine.engine import Engine
from dlsp_engine.errors import EngineError
from dlsp_engine.options import Options
from dlsp_engine.text.prompt import Gap
from tests.constraints.cases import CONSTRAINTS, accepts

CASES_OF_A_TEST = 25
DRAFTS = ("canvas", "right", "spoiled", "random", "control tokens", "grammatical")


@dataclass(frozen=True)
class Case:
    number: int  # of the constraint
    before: str
    behind: str
    temperature: float
    seed: int
    schedule: str
    width: int
    drafts: str


CASES = st.builds(
    Case,
    st.integers(0, len(CONSTRAINTS) - 1),
    st.text(st.sampled_from('ab =(\n"{[é日.'), max_size=6),
    st.sampled_from(["", "\n", ")\n", '"}']),
    st.sampled_from([0.0, 1.0]),
    st.integers(0, 1000),
    st.sampled_from(["auto", "split", "merged"]),
    st.integers(0, 4),
    st.sampled_from(DRAFTS),
)


@pytest.fixture(scope="session")
def compiled(tiny_engine: Engine) -> Callable[[int], Requirement]:
    return cache(lambda number: tiny_engine.grammars(CONSTRAINTS[number]))


def drafter(kind: str, rng: random.Random, answer: tuple[int, ...], start: int, match: Any) -> Drafter | None:
    """Drafts of one kind for an answer that begins `start` tokens in."""

    def right(tokens: list[int]) -> list[int]:
        return list(answer[len(tokens) - start :][:6])

    def grammatical(tokens: list[int]) -> list[int]:
        """Tokens that the constraint allows, though not those of the answer: `match` goes along with them."""
        at = match()
        for token in tokens[start:]:
            at.advance(token)
        drafted = []
        while len(drafted) < 6 and not at.complete:
            drafted.append(rng.choice([token for token, may in enumerate(at.allowed()) if may]))
            if drafted[-1] >= 256:
                break
            at.advance(drafted[-1])
        return drafted

    ways: dict[str, Callable[[list[int]], list[int]]] = {
        "right": right,
        "spoiled": lambda tokens: [t if rng.random() < 0.7 else rng.randrange(262) for t in right(tokens)],
        "random": lambda tokens: [rng.randrange(262) for _ in range(rng.randrange(6))],
        "control tokens": lambda tokens: [*right(tokens)[:2], rng.randrange(256, 262), 97],
        "grammatical": grammatical,
    }
    if kind not in ways:
        return None
    return lambda tokens: (drafted := ways[kind](tokens), [0.8] * len(drafted))


@pytest.mark.prove
@pytest.mark.parametrize("part", range(20))
def test_verified_is_autoregressive(tiny: Engine, compiled: Callable[[int], Requirement], part: int, record_property):
    counts = check(tiny, compiled, part, CASES_OF_A_TEST)
    for name, count in counts.items():
        record_property(name, count)
    assert counts["cases"] >= CASES_OF_A_TEST
    assert counts["ended"] > counts["cases"] / 3, "answers must be checked"


def test_some_cases(tiny: Engine, compiled: Callable[[int], Requirement]):
    assert check(tiny, compiled, 1000, 12)["cases"] >= 12


def check(engine: Engine, compiled: Callable[[int], Requirement], number: int, cases: int) -> dict[str, int]:
    """Check so many cases, drawn by `number`: how many there were, how many of their answers came to an end, on code
    and in all, and how many could not.
    """
    counts = {"cases": 0, "ended": 0, "on_code": 0, "contradictions": 0, "tokens": 0}

    @seed(number)
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(CASES)
    def one(case: Case) -> None:
        constraint, grammar, gap = CONSTRAINTS[case.number], compiled(case.number), Gap(case.before, case.behind)
        common = {"temperature": case.temperature, "seed": case.seed, "max_tokens": 48, "constraint": grammar}
        try:
            expected = engine.fill(gap, Options(mode="autoregressive", **common))
        except EngineError as error:  # the parts of the constraint contradict each other
            with pytest.raises(EngineError, match=re.escape(str(error))):
                engine.fill(gap, Options(schedule=case.schedule, draft=case.width, copy=False, **common))
            counts["cases"] += 1
            counts["contradictions"] += 1
            return
        assert not grammar.whole or expected.reason in ("end", "length", "blank")
        checked = expected.reason == "end"
        assert not checked or accepts(constraint, expected.text, gap.prefix, gap.suffix), expected.text
        standing = len(engine.prompt(gap).forced)
        drafts = drafter(
            case.drafts,
            random.Random(case.seed),
            expected.tokens,
            expected.cost.prompt_tokens,
            lambda: grammar.begin(gap, standing),
        )
        options = Options(schedule=case.schedule, draft=case.width, copy=False, **common)
        fill = engine.fill(gap, options, drafter=drafts)
        assert (fill.tokens, fill.text, fill.reason) == (expected.tokens, expected.text, expected.reason)
        counts["cases"] += 1
        counts["ended"] += checked
        counts["on_code"] += checked and bool({"identifiers", "balanced"} & constraint.keys())
        counts["tokens"] += expected.cost.tokens

    one()
    return counts
