"""What a team's server would do: `python -m bench.team.simulate --fitted FILE... --users 8 16 --replicas 2 4`.

The files are results of `bench.team`, the first one that of one typist and one replica. From them come the steps of
answers, their rows and costs, what requests cost on their way, and how much slower all that is while it shares the
cores. The texts are those that `bench.team` would have typed.

`--costs FILE` has the costs of another machine's steps instead, as those of `bench/team/costs`: a JSON object with
`rows`, milliseconds by the number of rows, and `request_ms`, which each request in a step adds. For decoding without
drafts it also has `rows_each`, the rows of each request, and `tau`, how many times the steps of the fitted runs an
answer takes.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from bench.command import at_least, guarded, written
from bench.quality.sets import Task, load
from bench.replay.pace import REST_S
from bench.team.__main__ import TASKS
from bench.team.fit import fitted
from bench.team.simulation import AFFINITY, IN_TURN, Machine, costs, simulate, summary


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.team.simulate", description="Predict a team's server.")
    parser.add_argument("--fitted", nargs="+", type=Path, required=True, help="results files of bench.team")
    parser.add_argument("--costs", type=Path, help="of the steps of another machine")
    parser.add_argument("--users", nargs="+", type=at_least(1), default=[8, 16])
    parser.add_argument("--replicas", nargs="+", type=at_least(1), default=[2, 4])
    parser.add_argument("--seconds", type=at_least(1), default=60)
    parser.add_argument("--rest", type=float, default=REST_S, help="the median seconds from one line to the next")
    parser.add_argument("--cores", type=at_least(1), default=2, help="that all replicas share, without --costs")
    parser.add_argument("--ingresses", type=at_least(1), default=1, help="processes that answer HTTP")
    parser.add_argument("--lose-at", type=float, metavar="SECONDS", help="when a replica is lost")
    parser.add_argument("--name", default="simulated", help="of the results file")
    asked = parser.parse_args()
    runs = [json.loads(file.read_text()) for file in asked.fitted]
    seed = runs[0]["seed"]

    @cache
    def tasks(users: int) -> Sequence[Task]:
        return load("single-line", TASKS * users, seed=seed)

    told = fitted(runs, tasks, asked.cores)
    machine = told.machine(asked.cores)
    if asked.costs:
        table = json.loads(asked.costs.read_text())
        machine = Machine(costs(table["rows"]), table["request_ms"])
        steps = [max(1, round(count * table.get("tau", 1))) for count in told.steps]
        told = replace(told, steps=steps, rows=table.get("rows_each", told.rows))
    metrics = {"fit/slower": told.slower, "fit/together": told.together, "fit/error": told.error}
    metrics |= {"fit/ingress_ms": told.ingress_ms, "fit/other_ms": told.other_ms, "fit/rows": told.rows}
    for users in asked.users:
        documents = told.documents(tasks(users), users)
        if len(documents[0]) < TASKS:  # more typists than there are texts for: they write the same ones in other orders
            every = told.documents(tasks(1), 1)[0]
            documents = [[*every[user % TASKS :], *every[: user % TASKS]] for user in range(users)]
        for replicas in asked.replicas:
            more = {"seed": seed, "ingresses": asked.ingresses, "lost_at_s": asked.lose_at, "rest_s": asked.rest}
            loaded = told.load(documents, replicas, asked.seconds, **more)
            for router in (AFFINITY, IN_TURN):
                found = summary(simulate(replace(loaded, router=router), machine))
                metrics |= {f"{users}u-{replicas}r/{router}/{name}": value for name, value in found.items()}
    metrics = {name: round(value, 3) for name, value in metrics.items()}
    print(json.dumps(metrics, indent=1))
    names = ("users", "replicas", "seconds", "rest", "cores", "ingresses", "lose_at")
    settings = {name: getattr(asked, name) for name in names} | {"fitted": [each.name for each in asked.fitted]}
    command = f"python -m bench.team.simulate {' '.join(sys.argv[1:])}"
    return written(f"team-{asked.name}", command, metrics, [], predicted=True, **settings)


if __name__ == "__main__":
    sys.exit(main())
