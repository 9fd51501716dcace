"""What a team's server would do: `python -m bench.team.simulate --fitted FILE --users 16 --replicas 4`.

Prompts, steps of answers, rows and the costs of steps come from a results file of `bench.team`; so does the overhead of
HTTP and Ray, the difference of the medians with the server and without, if that run had one user. `--costs FILE` has
the costs of another machine's steps instead: a JSON object, milliseconds by the number of rows. Such numbers are
predictions, and the results file says so.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.command import at_least, guarded, line, written
from bench.team.simulation import AFFINITY, IN_TURN, Load, costs, simulate, summary


def fitted(run: dict[str, Any]) -> dict[str, Any]:
    """The fields of `Load` that a run of `bench.team` tells."""
    filled = [each for each in run["samples"] if each["ended"] == "fill" and each["run"] == "plain"]
    metrics = run["metrics"]
    return {
        "prompts": [each["prompt_tokens"] for each in filled],
        "forwards": [max(1, each["forwards"]) for each in filled],
        "rows": sum(each["rows"] for each in filled) / max(1, sum(each["forwards"] for each in filled)),
        "overhead_ms": max(0.0, metrics["router/p50_ms"] - metrics["plain/p50_ms"]) if run["users"] == 1 else 0.0,
    }


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.team.simulate", description="Predict a team's server.")
    parser.add_argument("--fitted", type=Path, required=True, help="a results file of bench.team")
    parser.add_argument("--costs", type=Path, help="milliseconds of a step by rows, of another machine")
    parser.add_argument("--users", type=at_least(1), default=16)
    parser.add_argument("--replicas", type=at_least(1), default=4)
    parser.add_argument("--seconds", type=at_least(1), default=120)
    parser.add_argument("--cores", type=at_least(1), help="that all replicas share; default: each has its own")
    parser.add_argument("--threads", type=at_least(1), default=1)
    parser.add_argument("--overhead-ms", type=float)
    parser.add_argument("--lose-at", type=float, metavar="SECONDS")
    asked = parser.parse_args()
    run = json.loads(asked.fitted.read_text())
    table = json.loads(asked.costs.read_text()) if asked.costs else run["step"]["costs"]
    told = fitted(run)
    told["overhead_ms"] = told["overhead_ms"] if asked.overhead_ms is None else asked.overhead_ms
    metrics: dict[str, float] = {}
    for router in (AFFINITY, IN_TURN):
        load = Load(
            asked.users,
            asked.replicas,
            asked.seconds,
            router=router,
            lost_at_s=asked.lose_at,
            cores=asked.cores,
            threads=asked.threads,
            **told,
        )
        found = summary(simulate(load, costs(table)))
        metrics |= {f"{router}/{name}": round(value, 3) for name, value in found.items()}
    print(metrics)
    bench = f"team-simulated-{asked.users}u-{asked.replicas}r" + ("-predicted-costs" if asked.costs else "")
    return written(bench, line(parser, asked), metrics, [], predicted=True)


if __name__ == "__main__":
    sys.exit(main())
