"""How cost grows: what is asked at each size, of whom, and what comes out of it."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import pytest

from bench.growth import work
from bench.growth.__main__ import summary
from bench.growth.measure import Sample, measure
from bench.growth.work import ONCE, WHOLE, Sizes
from bench.peers.contenders import PEER, SEVERAL, Contender
from bench.peers.prompts import prompt
from bench.peers.side import Ask, Reply, Several
from dlsp_engine.text.tokenizer import ByteTokenizer

TOKENIZER = ByteTokenizer()
SIZES = Sizes(contexts=(200,), gaps=(4,), sites=(3,), users=(2,), rounds=2)


@dataclass
class Child:
    """Answers after as many milliseconds as the prompt has tokens; notes what it was asked."""

    asked: list[Any] = field(default_factory=list)

    def ask(self, ask: Ask, mode: str) -> Reply:
        self.asked.append(ask)
        return Reply("", ask.max_tokens, len(ask.tokens), 0, float(len(ask.tokens)), 1.0 if ask.watched else None)

    def together(self, asks: Sequence[Ask], mode: str) -> Several:
        self.asked.append(asks)
        return Several(5.0, 7.0, 2 * len(asks))


@pytest.fixture
def field_of_three() -> list[Contender]:
    named = ((PEER, True), (SEVERAL, False), ("int8 verified", False))
    return [Contender(name, cast(Any, Child()), "", plain) for name, plain in named]


def test_every_contender_is_asked_the_same(field_of_three):
    taken = [sample for of in measure(field_of_three, SIZES, TOKENIZER) for sample in of]
    alone = [one.child.asked for one in field_of_three if one.name != SEVERAL]  # type: ignore[attr-defined]
    warm = [[ask for ask in asked if isinstance(ask, Ask) and not ask.fresh] for asked in alone]
    assert warm[0] == warm[1]
    assert {one.contender for one in taken if one.what == "context"} == {PEER, "int8 verified"}
    assert {one.contender for one in taken if one.what == "sites"} == {SEVERAL, "int8 verified"}
    assert len(taken) == SIZES.rounds * 4 * 2


def test_large_sizes_are_measured_once():
    all_of_them = list(WHOLE.all())
    assert all_of_them.count(("context", 8192)) == all_of_them.count(("sites", 64)) == 1
    assert all_of_them.count(("context", 256)) == all_of_them.count(("gap", 64)) == 2
    assert set(ONCE.all()) <= set(all_of_them)
    assert len(set(ONCE.all())) == len(list(ONCE.all()))
    assert {what for what, _ in ONCE.all()} == {"context", "gap", "sites", "users"}


def test_cold_is_measured_once_a_child_and_warm_finds_its_prompt(field_of_three):
    taken = [sample for of in measure(field_of_three, SIZES, TOKENIZER) for sample in of]
    cold = {one.contender for one in taken if one.cold_ms is not None}
    assert cold == {PEER}
    asked = field_of_three[0].child.asked  # type: ignore[attr-defined]
    for number, ask in enumerate(asked):
        if isinstance(ask, Ask) and ask.watched and not ask.fresh:
            before = asked[number - 1]
            assert (before.tokens, before.max_tokens) == (ask.tokens, 1), "the prompt alone comes first"


def test_sites_are_of_one_document_and_users_have_their_own(monkeypatch):
    monkeypatch.setattr(work, "SITED", 600)  # bytes here
    asks = work.sites(5, TOKENIZER, random.Random(1))
    assert len(asks) == 5
    longest = max((ask.suffix for ask in asks), key=len)
    assert all(longest.endswith(ask.suffix) for ask in asks), "one document"
    starts = [ask.prefix for ask in asks]
    assert all(later.startswith(earlier) for earlier, later in pairwise(starts))
    for ask in asks:
        assert ask.prefix[-1] in "(,=.", "no word is cut in two"
        assert ask.suffix.startswith("\n")
        assert ask.fresh
        assert ask.tokens == prompt(ask.prefix, ask.suffix, "", TOKENIZER)
    assert len({ask.prefix for ask in work.users(4, TOKENIZER, random.Random(1))}) == 4
    assert len(work.sites(400, TOKENIZER, random.Random(1))) == 400, "more than the document has places"


def test_a_summary_has_medians_with_their_spread():
    samples = [Sample("gap", 4, "a", ms, ms / 2, 4) for ms in (10.0, 30.0, 20.0)]
    assert summary([*samples, Sample("context", 256, "a", 5, 5, 16, 99)]) == {
        "a/gap/4/ms": 20,
        "a/gap/4/ms_min": 10,
        "a/gap/4/ms_max": 30,
        "a/gap/4/first_ms": 10,
        "a/gap/4/first_ms_min": 5,
        "a/gap/4/first_ms_max": 15,
        "a/gap/4/tokens": 4,
        "a/context/256/ms": 5,
        "a/context/256/ms_min": 5,
        "a/context/256/ms_max": 5,
        "a/context/256/first_ms": 5,
        "a/context/256/first_ms_min": 5,
        "a/context/256/first_ms_max": 5,
        "a/context/256/cold_ms": 99,
        "a/context/256/cold_ms_min": 99,
        "a/context/256/cold_ms_max": 99,
        "a/context/256/tokens": 16,
    }
