"""What the simulator needs to know, from runs of `bench.team`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bench.quality.sets import Task
from bench.replay.pace import REST_S
from bench.team.simulation import AFFINITY, Document, Load, Machine, costs, simulate, summary
from bench.team.typists import share, typed_keys

START = (1.1, 0.85)  # of the search: how much longer a step takes than its cost says, and `Machine.together`
LIMITS = ((0.5, 4.0), (0.3, 1.0))
FACTORS = (1.3, 1.1, 1.03)  # by which each of the two is changed, as long as that helps


@dataclass(frozen=True)
class Fitted:
    """What runs tell. `steps` are those of each answer, `characters` of a prompt are a token's, and `error` is the
    root mean square of the logarithms of simulated by measured p50 and p95."""

    steps: Sequence[int]
    rows: float
    characters: float
    ingress_ms: float
    other_ms: float
    table: dict[str, float]
    slower: float = 1.0
    together: float = 1.0
    error: float = math.nan

    def load(self, documents: Sequence[Sequence[Document]], replicas: int, seconds: float, **more: Any) -> Load:
        told = {"steps": self.steps, "rows": self.rows, "ingress_ms": self.ingress_ms, "other_ms": self.other_ms}
        return Load(replicas, seconds, documents, **(told | more))

    def machine(self, cores: int | None) -> Machine:
        cost, slower = costs(self.table), self.slower
        return Machine(lambda rows: slower * cost(rows), 0.0, cores, self.together)

    def documents(self, tasks: Sequence[Task], users: int) -> list[list[Document]]:
        """What the typists of `bench.team` write of these tasks."""
        return [
            [
                Document(round((len(task.prefix) + len(task.suffix)) / self.characters), len(typed_keys(task)))
                for task in share(tasks, user, users)
            ]
            for user in range(users)
        ]


def fitted(runs: Sequence[dict[str, Any]], tasks: Callable[[int], Sequence[Task]], cores: int) -> Fitted:
    """What the runs tell, each with the router; `tasks` are those of so many users. The costs of steps are the first
    run's; how much slower they are in use, and together, is what fits the times of all runs best."""
    filled = [each for run in runs for each in run["samples"] if each["ended"] == "fill" and each["run"] == AFFINITY]
    counted = [each for each in filled if each["forwards"]]
    ingress_ms, other_ms = each_request(runs, "ingress_ms"), each_request(runs, "other_ms")
    told = Fitted(
        steps=[each["forwards"] for each in counted],
        rows=sum(each["rows"] for each in counted) / sum(each["forwards"] for each in counted),
        characters=sum(each["characters"] for each in filled) / sum(each["prompt_tokens"] for each in filled),
        ingress_ms=ingress_ms,
        # The replica's own HTTP, which its steps hide, is taken to cost as much as the ingress.
        other_ms=other_ms + ingress_ms,
        table=runs[0]["step"]["costs"],
    )
    best = _judged(told, START, runs, tasks, cores)
    for factor in FACTORS:
        improved = True
        while improved:
            improved = False
            for place, (low, high) in enumerate(LIMITS):
                for times in (factor, 1 / factor):
                    values = [best.slower, best.together]
                    values[place] = min(high, max(low, values[place] * times))
                    found = _judged(told, (values[0], values[1]), runs, tasks, cores)
                    if found.error < best.error - 1e-6:
                        best, improved = found, True
    return best


def each_request(runs: Sequence[dict[str, Any]], name: str) -> float:
    """Milliseconds of a processor that one more request costs, by least squares over runs of which each also has what
    passes without requests."""
    numbers = [sum(run["metrics"][f"{AFFINITY}/{how}"] for how in ("fill", "superseded", "reason")) for run in runs]
    totals = [number * run["metrics"][f"{AFFINITY}/{name}"] for number, run in zip(numbers, runs, strict=True)]
    if len(set(numbers)) == 1:
        return totals[0] / numbers[0]
    return max(0.0, float(np.polyfit(numbers, totals, 1)[0]))


def _judged(
    told: Fitted,
    values: tuple[float, float],
    runs: Sequence[dict[str, Any]],
    tasks: Callable[[int], Sequence[Task]],
    cores: int,
) -> Fitted:
    found = replace(told, slower=values[0], together=values[1])
    errors: list[float] = []
    for run in runs:
        documents = found.documents(tasks(run["users"]), run["users"])
        rest_s = run.get("rest_s", REST_S)  # none in older results
        load = found.load(documents, run["replicas"], run["seconds"], seed=run["seed"], rest_s=rest_s)
        simulated = summary(simulate(load, found.machine(cores)))
        errors += [math.log(simulated[name] / run["metrics"][f"{AFFINITY}/{name}"]) for name in ("p50_ms", "p95_ms")]
    return replace(found, error=math.sqrt(sum(each**2 for each in errors) / len(errors)))
