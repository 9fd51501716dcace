"""The command: `python -m bench.edits.traps`. Makes the traps and offers next edits for each, without a model."""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.command import guarded, written
from bench.edits.traps.generate import traps
from bench.edits.traps.trap import Outcome, Trap, outcome, summary
from dlsp.edits.rank.proposals import learned

# What the traps must show.
MOST_WRONG_SINGLE, LEAST_OFFERED = 0.02, 0.90


def answered(trap: Trap) -> Outcome:
    """What is offered for a trap without a model, however long it takes."""
    own = trap.page()
    return outcome(trap, learned(trap.edit, own, [own, *trap.others()], seconds=math.inf))


def metrics(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """`GROUP/NUMBER` for all, each language and each kind."""
    groups: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for each in outcomes:
        groups.setdefault(each.trap.language, []).append(each)
        groups.setdefault(each.trap.kind, []).append(each)
    return {f"{name}/{number}": round(value, 4) for name, of in groups.items() for number, value in summary(of).items()}


def show(found: dict[str, float]) -> None:
    columns = ("traps", "partners", "certain", "single", "wrong_certain", "wrong_single")
    shares = ("partners_offered", "decided_offered")
    table = Table("", *columns, *shares)
    for group in dict.fromkeys(name.partition("/")[0] for name in found):
        counts = (f"{found[f'{group}/{each}']:.0f}" for each in columns)
        table.add_row(group, *counts, *(f"{found[f'{group}/{each}']:.1%}" for each in shares))
    Console().print(table)


def failures(found: dict[str, float]) -> list[str]:
    """Sentences about the numbers that do not reach what the traps must show."""
    checks = {
        "Places were changed by `all` that must not change.": found["all/wrong_certain"] == 0,
        "Too many single offers are wrong.": found["all/wrong_single_share"] <= MOST_WRONG_SINGLE,
        "Too few of the places that must follow are offered.": found["all/partners_offered"] >= LEAST_OFFERED,
        "Scopes and imports decide places that are not offered.": found["all/decided_offered"] == 1,
    }
    return [sentence for sentence, holds in checks.items() if not holds]


def faults(each: Outcome) -> Iterator[str]:
    """Yield a line for each place that is wrong or missing."""
    yield from (f"{each.trap.id}: wrong, certain: {told}" for told in each.wrong_certain)
    yield from (f"{each.trap.id}: wrong: {told}" for told in each.wrong_single)
    for path, offset in sorted(each.missing):
        text = each.trap.files[path]
        row = text.count("\n", 0, offset)
        how = "missing, decided" if (path, offset) in each.trap.decided else "missing"
        yield f"{each.trap.id}: {how}: {path}:{row + 1}: {text.splitlines()[row].strip()}"


def sample(each: Outcome) -> dict[str, Any]:
    """The numbers of one trap."""
    trap = each.trap
    told = {"id": trap.id, "kind": trap.kind, "language": trap.language, "partners": len(trap.partners)}
    wrong = {"wrong_certain": len(each.wrong_certain), "wrong_single": len(each.wrong_single)}
    return {**told, "offered": len(each.offered), **wrong}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser(
        "python -m bench.edits.traps", description="Renames of names that have two meanings."
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="print what is wrong and what is missing")
    asked = parser.parse_args()
    began = time.monotonic()
    outcomes = [answered(trap) for trap in track(list(traps(asked.seed)), description="offering")]
    found = metrics(outcomes)
    show(found)
    for each in outcomes if asked.verbose else ():
        for line in faults(each):
            print(line)
    samples = [sample(each) for each in outcomes]
    found["seconds"] = round(time.monotonic() - began, 1)
    written("traps", " ".join(["python -m bench.edits.traps", *sys.argv[1:]]), found, samples)
    failed = failures(found)
    print(*failed, sep="\n", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
