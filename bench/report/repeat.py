"""Do two runs on one machine agree? `python -m bench.report.repeat FOLDER FOLDER` compares the ratios they measured."""

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.command import MEND, guarded
from bench.report.load import Results, load

WITHIN = 0.10


def differences(one: Results, other: Results) -> dict[str, float]:
    """FILE METRIC -> relative difference, of every median ratio that both have."""
    found = {}
    for result in one:
        twin = other.one(result.name)
        for name, value in result.metrics.items():
            if name.endswith("ratio_median") and twin and name in twin.metrics and value:
                found[f"{result.name} {name}"] = twin.metrics[name] / value - 1
    return found


@guarded()
def main(arguments: list[str] | None = None) -> int:
    """0 when all agree within 10%, 1 when some do not, 2 for what the user has to mend."""
    parser = argparse.ArgumentParser("python -m bench.report.repeat", description="Do two runs agree?")
    parser.add_argument("folders", type=Path, nargs=2, metavar="FOLDER")
    parser.add_argument("--machine")
    asked = parser.parse_args(arguments)
    one, other = (load(folder, asked.machine) for folder in asked.folders)
    found = differences(one, other)
    if not found:
        print("The two folders have no ratio in common.", file=sys.stderr)
        return MEND
    table = Table("ratio", title=f"{one.machine}: the second run against the first", title_justify="left")
    table.add_column("difference", justify="right")
    apart = {name: by for name, by in found.items() if abs(by) > WITHIN}
    for name, by in sorted(found.items(), key=lambda item: -abs(item[1])):
        table.add_row(name, f"{by:+.1%}", style="bold" if name in apart else "")
    Console().print(table)
    print(f"{len(found) - len(apart)} of {len(found)} ratios agree within {WITHIN:.0%}.")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
