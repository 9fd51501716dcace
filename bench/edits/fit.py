"""Fit what a substitution's evidence weighs, from the training edits: `python -m bench.edits.fit`.

A line counts as right when it is, after the substitution, what it became; whatever else it became counts as wrong.
Lines above the user's edit are left out: in the mined edits the first hunk is the file's first.
"""

import argparse
import json
import sys

import numpy as np
from rich.progress import track

from bench.command import guarded
from bench.edits.rows import Row, load
from bench.logistic import logistic
from dlsp.edits.rank.evidence import GROUPS, NAMES, group
from dlsp.edits.rank.sites import Marked, marked
from dlsp.edits.rank.weights import FILE

SETS = ("train", "negatives-train")
RIDGE = 2.0
# Of one line: all their combinations are tried.
MOST_MATCHES = 6

Examples = dict[str, tuple[list[list[float]], list[float]]]


def examples(rows: list[Row]) -> Examples:
    """For each group of rules the numbers of its matches, and whether each was right."""
    found: Examples = {each: ([], []) for each in GROUPS}
    for row in track(rows, description="looking for sites"):
        became = _became(row)
        for line in marked(row.edit, row.page, [row.page]):
            if line.row < row.page.edited[0][0]:
                continue
            right = _right(line, became.get(line.row, row.page.lines[line.row]))
            for match, numbers in zip(line.found, line.numbers, strict=True):
                given, truth = found[group(match, numbers)]
                given.append(numbers)
                truth.append(float(match in right))
    return found


def fitted(numbers: list[list[float]], truth: list[float]) -> list[float]:
    """The weights of a logistic regression, all but the first held small."""
    x = np.array(numbers)
    ridge = np.array([1e-3] + [RIDGE] * (x.shape[1] - 1))
    return [round(float(each), 3) for each in logistic(x, np.array(truth), ridge)]


def _became(row: Row) -> dict[int, str | None]:
    """What each changed line of the page became; None where it became no single line."""
    found: dict[int, str | None] = {}
    for hunk in row.wanted:
        single = hunk.end - hunk.start == len(hunk.lines)
        for index in range(hunk.end - hunk.start):
            found[hunk.start + index] = hunk.lines[index] if single else None
    return found


def _right(line: Marked, became: str | None) -> set:
    """The matches that together make of the line what it became."""
    matches = line.found[:MOST_MATCHES]
    for mask in range(2 ** len(matches) - 1, 0, -1):
        kept = [match for index, match in enumerate(matches) if mask >> index & 1]
        if line.with_only(kept) == became:
            return set(kept)
    return set()


@guarded()
def main() -> int:
    argparse.ArgumentParser("python -m bench.edits.fit", description="Fit weights on the training edits.").parse_args()
    found = examples([row for name in SETS for row in load(name)])
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    for name, (numbers, truth) in found.items():
        stored["match"][name] = dict(zip(NAMES, fitted(numbers, truth), strict=True))
        print(f"{name}: {len(truth)} places, {sum(truth):.0f} right")
    FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
