"""The command: `python -m bench.identity --gaps 200`, which `make prove` runs."""

import argparse
import signal
import sys
from dataclasses import asdict

from rich.progress import track

from bench import results
from bench.identity.drafts import DRAFTS
from bench.identity.gaps import gaps
from bench.identity.prove import SCHEDULES, prove, summary
from dlsp.errors import UserError
from dlsp.models import catalogue, store


def main() -> int:
    """0 when no answer differs, ties apart; 1 when one does; 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.identity", description=sys.modules["bench.identity"].__doc__)
    parser.add_argument("--gaps", type=int, default=200)
    parser.add_argument("--model", default="0.5b")
    asked = parser.parse_args()
    try:
        model = catalogue.find(asked.model)
        path = store.path(model)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    from dlsp_engine import Engine

    engine = Engine.load(path, store.folder(), dtype="float32")
    total = asked.gaps * len(DRAFTS) * len(SCHEDULES)
    comparisons = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for comparison in track(prove(engine, gaps(asked.gaps)), total=total, description=f"proving on {model.name}"):
            comparisons.append(comparison)
    except KeyboardInterrupt:
        print("Stopped: what is proved so far counts.", file=sys.stderr)
        if not comparisons:
            return 130
    metrics = {"gaps": len({one.gap for one in comparisons})} | summary(comparisons)
    command = f"python -m bench.identity --gaps {asked.gaps} --model {asked.model}"
    samples = [asdict(one) for one in comparisons if one.outcome != "identical"]
    print(f"Written to {results.write('identity', command, metrics, samples)}")
    different = int(metrics["all/different"])
    print(f"{int(metrics['all/identical'])} identical, {int(metrics['all/tie'])} ties, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
