"""The simulator of a team's server, and what is summed up of a real run."""

import pytest

from bench.team.__main__ import after_kill, summary
from bench.team.simulation import IN_TURN, Answered, Load, costs, simulate
from bench.team.simulation import summary as simulated
from bench.team.typists import Asked

COST = costs({"1": 10.0, "8": 12.0, "128": 60.0})
SMALL = Load(4, 2, 60, prompts=[300, 600], forwards=[2, 4], rows=8)


def load(**changed: object) -> Load:
    return Load(**{**vars(SMALL), **changed})


@pytest.mark.parametrize(("rows", "ms"), [(1, 10.0), (4.5, 11.0), (68, 36.0), (248, 108.0)])
def test_a_steps_cost_is_between_those_measured(rows: float, ms: float) -> None:
    assert COST(rows) == pytest.approx(ms)


def test_one_typist_waits_for_the_steps_alone() -> None:
    alone = Load(1, 1, 60, prompts=[256], forwards=[3], rows=8, overhead_ms=5)
    answers = simulate(alone, COST)
    first = [each.ms for each in answers if each.first]
    assert first
    assert set(map(round, first)) == {2 * 60 + 3 * 12 + 5}
    later = [each.ms for each in answers if each.hit]
    assert set(map(round, later)) == {10 + 3 * 12 + 5}


def test_the_same_load_is_answered_the_same() -> None:
    assert simulate(SMALL, COST) == simulate(SMALL, COST)


def test_a_session_is_found_where_its_requests_go_and_not_in_turn() -> None:
    assert simulated(simulate(load(replicas=4), COST))["hits"] > 0.99
    assert simulated(simulate(load(replicas=4, router=IN_TURN), COST))["hits"] < 0.9


def test_more_typists_wait_longer_and_more_replicas_shorten_that() -> None:
    few, many = (simulated(simulate(load(users=users), COST)) for users in (2, 40))
    spread = simulated(simulate(load(users=40, replicas=8), COST))
    assert few["p95_ms"] < many["p95_ms"]
    assert spread["p95_ms"] < many["p95_ms"]


def test_replicas_that_share_cores_are_slower() -> None:
    assert (
        simulated(simulate(load(users=20, cores=1), COST))["p50_ms"]
        > simulated(simulate(load(users=20), COST))["p50_ms"]
    )


def test_a_lost_replica_costs_its_own_sessions_only() -> None:
    whole, lost = (simulate(load(replicas=4, users=8, lost_at_s=at), COST) for at in (None, 30.0))
    assert simulated(lost)["hits"] < simulated(whole)["hits"]
    assert simulated(lost)["hits"] > 0.8
    assert max(each.at_s for each in lost) > 55

    none_left = simulate(load(replicas=1, lost_at_s=30.0, back_after_s=10.0), COST)
    assert not [each for each in none_left if 31 < each.at_s < 40]
    assert [each for each in none_left if each.at_s > 41]


def asked(at_s: float, ended: str = "fill", cached: int = 0, first: bool = False, ms: float = 100) -> Asked:
    return Asked(0, 0, at_s, ms, ended, first, prompt_tokens=100, cached_tokens=cached)


def test_what_was_superseded_counts_in_no_time() -> None:
    found = [asked(0, first=True, ms=300), asked(1, cached=90), asked(2, "superseded", ms=9000), asked(3, cached=10)]
    assert summary(found) == {
        "fill": 3,
        "superseded": 1,
        "reason": 0,
        "hits": 0.5,
        "p50_ms": 100,
        "p95_ms": pytest.approx(280),
        "longest_ms": 9000,
    }


def test_after_a_kill_hits_are_counted_by_windows() -> None:
    found = [asked(1, cached=90), asked(9.5, "reason", ms=800), asked(11, cached=0), asked(12, cached=90)]
    found += [asked(16, cached=90), asked(17, first=True)]
    assert after_kill(found, 10.0) == {
        "reasons": 1,
        "longest_ms": 800,
        "hits_from_0_s": 0.5,
        "hits_from_5_s": 1.0,
    }


def test_a_summary_of_answers_counts_no_first_request_as_a_miss() -> None:
    answers = [Answered(0, 100, False, True), Answered(1, 50, True, False)]
    assert simulated(answers)["hits"] == 1.0
