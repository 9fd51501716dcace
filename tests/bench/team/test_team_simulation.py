"""The simulator of a team's server, how it is fitted, and what is summed up of a real run."""

from dataclasses import replace
from typing import Any

import pytest

from bench.quality.sets import Task
from bench.team.fit import each_request, fitted
from bench.team.runs import after_kill, summary
from bench.team.simulation import IN_TURN, Answered, Document, Load, Machine, costs, simulate
from bench.team.simulation import summary as simulated
from bench.team.typists import Asked, share

COST = costs({"1": 10.0, "8": 12.0, "128": 60.0})
MACHINE = Machine(COST)


def load(users: int = 4, **changed: Any) -> Load:
    documents = [[Document(300 + 20 * user, 12)] * 20 for user in range(users)]
    return Load(**{"replicas": 2, "seconds": 60, "documents": documents, "steps": [2, 4], "rows": 8} | changed)


@pytest.mark.parametrize(("rows", "ms"), [(1, 10.0), (4.5, 11.0), (68, 36.0), (248, 108.0)])
def test_a_steps_cost_is_between_those_measured(rows: float, ms: float) -> None:
    assert COST(rows) == pytest.approx(ms)


def test_one_typist_waits_for_the_steps_and_the_way_alone() -> None:
    alone = load(1, replicas=1, documents=[[Document(256, 12)] * 20], steps=[3], ingress_ms=2, other_ms=3)
    answers = simulate(alone, MACHINE)
    first = {round(each.ms) for each in answers if each.first}
    assert first == {60 + 60 + 12 * 3 + 5}, "a prompt of two full steps, and then the answer's"
    hits = [round(each.ms) for each in answers if each.hit]
    assert (min(hits), max(hits)) == (12 * 3 + 5, pytest.approx(12 * 3 + 5, abs=2)), "what is superseded costs a little"


def test_the_same_load_is_answered_the_same() -> None:
    assert simulate(load(), MACHINE) == simulate(load(), MACHINE)


def test_a_session_is_found_where_its_requests_go_and_not_in_turn() -> None:
    assert simulated(simulate(load(replicas=4), MACHINE))["hits"] > 0.99
    assert simulated(simulate(load(replicas=4, router=IN_TURN), MACHINE))["hits"] < 0.9


def test_more_typists_wait_longer_and_more_replicas_shorten_that() -> None:
    few, many = (simulated(simulate(load(users), MACHINE)) for users in (2, 40))
    spread = simulated(simulate(load(40, replicas=8), MACHINE))
    assert few["p95_ms"] < many["p95_ms"]
    assert spread["p95_ms"] < many["p95_ms"]


def test_replicas_that_share_cores_are_slower_and_slower_still_if_they_share_memory() -> None:
    own, shared, memory = (
        simulated(simulate(load(20), replace(MACHINE, cores=cores, together=together)))["p50_ms"]
        for cores, together in ((None, 1.0), (1, 1.0), (1, 0.7))
    )
    assert own < shared < memory


def test_an_ingress_that_is_busy_makes_all_wait() -> None:
    one, two = (
        simulated(simulate(load(60, replicas=20, ingress_ms=8, ingresses=count), MACHINE))["p50_ms"] for count in (1, 4)
    )
    assert one > 2 * two


def test_a_lost_replica_costs_its_own_sessions_only() -> None:
    whole, lost = (simulate(load(40, replicas=4, lost_at_s=at), MACHINE) for at in (None, 30.0))
    assert simulated(lost)["p95_ms"] > simulated(whole)["p95_ms"]
    assert simulated(lost)["hits"] > 0.8
    assert max(each.at_s for each in lost) > 55

    none_left = simulate(load(replicas=1, lost_at_s=30.0, back_after_s=10.0), MACHINE)
    assert not [each for each in none_left if 31 < each.at_s < 39]
    assert [each for each in none_left if each.at_s > 41]


def test_a_fit_finds_how_a_simulated_machine_differs_from_its_costs() -> None:
    tasks = [Task(str(number), "", "x" * (900 + 60 * number), "", "some = line", "") for number in range(20)]

    def run(users: int, replicas: int) -> dict[str, Any]:
        documents = [
            [Document(len(task.prefix) // 3, len("some = line")) for task in share(tasks, user, users)]
            for user in range(users)
        ]
        machine = Machine(lambda rows: 1.5 * COST(rows), cores=2, together=0.7)
        answers = simulate(load(users, replicas=replicas, documents=documents, ingress_ms=3, other_ms=8), machine)
        found = simulated(answers)
        samples = [
            {
                "run": "router",
                "ended": "fill",
                "forwards": steps,
                "rows": 8 * steps,
                "characters": 300,
                "prompt_tokens": 100,
            }
            for steps in (2, 4)
        ]
        metrics = {f"router/{name}": value for name, value in found.items()}
        metrics |= {"router/ingress_ms": 3, "router/other_ms": 5, "router/superseded": 0, "router/reason": 0}
        step = {"costs": {"1": 10.0, "8": 12.0, "128": 60.0}}
        return {
            "users": users,
            "replicas": replicas,
            "seconds": 60,
            "seed": 1,
            "samples": samples,
            "step": step,
            "metrics": metrics,
        }

    told = fitted([run(1, 1), run(4, 3)], lambda users: tasks, cores=2)
    assert (told.rows, told.characters, told.ingress_ms, told.other_ms) == pytest.approx((8, 3, 3, 8))
    assert told.slower == pytest.approx(1.5, rel=0.1)
    assert told.error < 0.1


def asked(at_s: float, ended: str = "fill", cached: int = 0, first: bool = False, ms: float = 100) -> Asked:
    return Asked(0, at_s, ms, ended, first, prompt_tokens=100, cached_tokens=cached)


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
    assert after_kill(found, killed_s=10.0, up_s=12.0) == {
        "up_after_s": 2.0,
        "reasons": 1,
        "longest_since_ms": 800,
        "hits_from_0_s": 0.5,
        "hits_from_5_s": 1.0,
        "back_from_0_s": 1.0,
    }


def test_a_summary_of_answers_counts_no_first_request_as_a_miss() -> None:
    answers = [Answered(0, 100, False, True), Answered(1, 50, True, False)]
    assert simulated(answers)["hits"] == 1.0


def test_what_passes_without_requests_is_no_requests_cost() -> None:
    """Of 100 requests and of 400, with 3 s of processor that Ray took anyway and 12 ms each."""
    ways = ("fill", "superseded", "reason")
    runs = [
        {"metrics": {f"router/{how}": number / 3 for how in ways} | {"router/ingress_ms": 12 + 3000 / number}}
        for number in (100, 400)
    ]
    assert each_request(runs, "ingress_ms") == pytest.approx(12)
    assert each_request(runs[:1], "ingress_ms") == pytest.approx(42)
