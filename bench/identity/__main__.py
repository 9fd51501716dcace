"""The command: `python -m bench.identity --gaps 200`, which `make prove` runs."""

import argparse
import sys
from dataclasses import asdict

from bench.command import at_least, guarded, loaded, until_stopped, written
from bench.identity.drafts import DRAFTS
from bench.identity.gaps import gaps
from bench.identity.prove import SCHEDULES, prove, summary
from dlsp.models import catalogue


@guarded()
def main() -> int:
    """0 when no answer differs in float32, ties apart; 1 when one does; 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.identity", description=sys.modules["bench.identity"].__doc__)
    parser.add_argument("--gaps", type=at_least(1), default=200)
    parser.add_argument("--model", default="0.5b")
    parser.add_argument("--dtype", default="float32", choices=("float32", "int8"))
    asked = parser.parse_args()
    model = catalogue.find(asked.model)
    engine = loaded(model, asked.dtype)
    exact = asked.dtype == "float32"
    drafts = [draft for draft in DRAFTS.values() if exact or not draft.corrupted]
    total = asked.gaps * len(drafts) * len(SCHEDULES)
    comparisons = until_stopped(prove(engine, gaps(asked.gaps)), f"proving on {model.name}", total)
    metrics = {"gaps": len({one.gap for one in comparisons})} | summary(comparisons)
    command = f"python -m bench.identity --gaps {metrics['gaps']} --model {asked.model}"  # as many as were done
    command += "" if exact else f" --dtype {asked.dtype}"
    samples = [asdict(one) for one in comparisons if one.outcome != "identical"]
    written("identity" if exact else f"identity-{asked.dtype}", command, metrics, samples)
    different = int(metrics["all/different"])
    print(f"{int(metrics['all/identical'])} identical, {int(metrics['all/tie'])} ties, {different} different")
    return 1 if different and exact else 0


if __name__ == "__main__":
    sys.exit(main())
