"""The command: `python -m bench.edits.reported`. Offers next edits for what Pyright reports, without a model."""

import argparse
import math
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.command import at_least, guarded, written
from bench.edits.reported.case import PYTHON, Case, Outcome, outcome, summary
from bench.edits.reported.generate import cases
from bench.edits.traps import sources
from bench.edits.traps.oracles import Pyright
from bench.edits.traps.trap import PatientPage
from dlsp.context.workspace import Workspace
from dlsp.edits.history.hunks import applied
from dlsp.edits.rank.proposals import learned
from dlsp.edits.search.files import others
from dlsp.edits.search.page import Page
from dlsp.edits.search.tokens import WORD

# Cases of each kind that are taken from a package.
EACH = 4
MIN_LETTERS = 6


def measured(seed: int, each: int) -> Iterator[Outcome]:
    """Yield what is offered for the cases of all packages."""
    projects = {name: sources.project(sources.SITE / name, (".py",), name)[0] for name in sources.PYTHON_PROJECTS}
    for name, files in projects.items():
        elsewhere = (text for other, texts in projects.items() if other != name for text in texts.values())
        words = sorted({word for text in elsewhere for word in WORD.findall(text) if len(word) >= MIN_LETTERS})
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            sources.write(root, files)
            with closing(Pyright(root, {})) as server, closing(Workspace(root)) as workspace:
                for case in cases(files, words, random.Random(f"{seed} {name}"), each):
                    yield answered(case, server, workspace)


def answered(case: Case, server: Pyright, workspace: Workspace) -> Outcome:
    """What is offered for a case with what Pyright reports, and what Pyright says then."""
    errors = server.errors(case.path, case.after)
    own = case.page(errors)
    pages = [own, *_others(case, own, workspace)]
    found = [each for each in learned(case.edit, own, pages, math.inf) if each.site.page is own]
    then = server.errors(case.path, "".join(applied(own.lines, [each.hunk for each in found]))) if found else errors
    return outcome(case, found, len(then) > len(errors))


def _others(case: Case, own: Page, workspace: Workspace) -> Iterator[Page]:
    for path, text in others(workspace, case.edit, own):
        name = workspace.name(path)
        if name != case.path:
            yield PatientPage(name, name, text, PYTHON)


def metrics(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """`GROUP/NUMBER` for all and for each kind."""
    groups: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for each in outcomes:
        groups.setdefault(each.case.kind, []).append(each)
    return {f"{name}/{number}": round(value, 4) for name, of in groups.items() for number, value in summary(of).items()}


def show(found: dict[str, float]) -> None:
    columns, shares = ("cases", "wanted", "offered", "right", "exact", "worse"), ("precision", "share_offered")
    table = Table("", *columns, *shares)
    for group in dict.fromkeys(name.partition("/")[0] for name in found):
        counts = (f"{found[f'{group}/{each}']:.0f}" for each in columns)
        table.add_row(group, *counts, *(f"{found[f'{group}/{each}']:.1%}" for each in shares))
    Console().print(table)


def faults(each: Outcome) -> Iterator[str]:
    """Yield a line for each change that is wrong, and for each that is missing; and if more is reported then."""
    for hunk in each.offered:
        if not each.case.is_right(hunk):
            yield f"{each.case.kind} {each.case.id}: wrong: {''.join(hunk.lines).strip()}"
    if each.found < len(each.case.wanted):
        for hunk in sorted(each.case.wanted - set(each.offered)):
            yield f"{each.case.kind} {each.case.id}: wanted: {''.join(hunk.lines).strip()}"
    if each.is_worse:
        yield f"{each.case.kind} {each.case.id}: more is reported than before"


def sample(each: Outcome) -> dict[str, Any]:
    told = {"id": each.case.id, "kind": each.case.kind, "wanted": len(each.case.wanted)}
    return {**told, "offered": len(each.offered), "right": each.right, "exact": each.is_exact, "worse": each.is_worse}


@guarded()
def main() -> int:
    parser = argparse.ArgumentParser("python -m bench.edits.reported", description="Fixes of what Pyright reports.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=at_least(1), default=EACH, help="cases of each kind and package")
    parser.add_argument("--verbose", action="store_true", help="print what is wrong and what is missing")
    asked = parser.parse_args()
    outcomes = list(track(measured(asked.seed, asked.each), description="offering"))
    found = metrics(outcomes)
    show(found)
    for each in outcomes if asked.verbose else ():
        for line in faults(each):
            print(line)
    command = " ".join(["python -m bench.edits.reported", *sys.argv[1:]])
    return written("reported", command, found, [sample(each) for each in outcomes])


if __name__ == "__main__":
    sys.exit(main())
