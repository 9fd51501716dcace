"""Two results of the same set, gap by gap: `python -m bench.quality.paired BEFORE.json AFTER.json`.

Says how many gaps the second answers right and the first does not (won), and the other way round (lost), with the
two-sided p-value of the exact sign test. Gaps that only one of them has are left out. Results of `bench.held_out` and,
with `--variant "with other files"`, of `bench.cross_file` are taken too.
"""

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.command import MEND, guarded

Passed = dict[str, bool]  # by task


@dataclass(frozen=True)
class Paired:
    """Right answers of both among `gaps`, and those of only the second (`won`) and only the first (`lost`)."""

    gaps: int
    before: int
    after: int
    won: int
    lost: int

    @property
    def p(self) -> float:
        """How likely a split of the `won` and `lost` gaps at least as uneven is if both are equally good."""
        number = self.won + self.lost
        tail = sum(comb(number, k) for k in range(max(self.won, self.lost), number + 1)) / 2**number
        return min(1.0, 2 * tail)


def paired(before: Passed, after: Passed) -> Paired:
    both = before.keys() & after.keys()
    return Paired(
        gaps=len(both),
        before=sum(before[task] for task in both),
        after=sum(after[task] for task in both),
        won=sum(after[task] and not before[task] for task in both),
        lost=sum(before[task] and not after[task] for task in both),
    )


def passed(path: Path, variant: str) -> Passed:
    """Which tasks a results file has right in a variant; in the only one, if its samples name none."""
    found: Passed = {}
    for sample in json.loads(path.read_text("utf-8"))["samples"]:
        told: dict[str, Any] = sample.get(variant, sample)
        right = told.get("pass", told.get("right"))
        if isinstance(right, int):
            found[sample.get("task") or sample["place"]] = bool(right)
    return found


def by_language(tasks: Passed) -> dict[str, Passed]:
    """The tasks of each language, if their ids begin with it."""
    found: dict[str, Passed] = defaultdict(dict)
    for task, right in tasks.items():
        found[task.split("/")[0]][task] = right
    return found if len(found) > 1 else {}


@guarded()
def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.quality.paired", description="Two results, gap by gap.")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--variant", default="verified")
    asked = parser.parse_args(arguments)
    before, after = (passed(path, asked.variant) for path in (asked.before, asked.after))
    if not before.keys() & after.keys():
        print(
            f"The two files have no gap with '{asked.variant}' in common: name two results of one set.", file=sys.stderr
        )
        return MEND
    table = Table("", "gaps", "before", "after", "won", "lost", "p")
    parts = {"all": (before, after)}
    mine, others = by_language(before), by_language(after)
    parts |= {name: (of, others.get(name, {})) for name, of in mine.items()}
    for name, (first, second) in parts.items():
        one = paired(first, second)
        shares = (f"{right / max(1, one.gaps):.1%}" for right in (one.before, one.after))
        table.add_row(name, str(one.gaps), *shares, str(one.won), str(one.lost), f"{one.p:.3f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
