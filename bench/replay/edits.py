"""Scripts of real edits: the user goes to each changed place, deletes what was there and types what came instead.

From the sets of edits mined from repositories (`edits/dev.jsonl.gz`), and of edits after which nothing follows
(`edits/negatives-dev.jsonl.gz`); for fitting, from their training parts, which are of other repositories.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.evals import EDITS, rows
from bench.replay.scripts import Delete, Move, Script, Step, Write, common

SETS = {"test": ("dev", "negatives-dev"), "fit": ("train", "negatives-train")}
# Longer edits say no more about manners, and cost time.
MOST_HUNKS, MOST_WRITTEN = 3, 160
# So many characters and more are selected and deleted by one key, fewer by one key each.
SELECTED = 20


def scripts(split: str) -> list[Script]:
    """All edits of a split that are short enough; UserError where DLSP_EVAL_DIR does not have them."""
    return [
        script
        for name in SETS[split]
        for row in rows(f"edits/{name}.jsonl.gz", EDITS)
        if (script := _script(name, row))
    ]


def _script(name: str, row: dict[str, Any]) -> Script | None:
    before, after = row["window_before"], row["window_after"]
    if "\r" in before + after or "\t" in before + after:
        return None
    steps = list(_steps(before, after, row["hunks"][:MOST_HUNKS]))
    written = sum(len(step.text) for step in steps if isinstance(step, Write))
    if not steps or written > MOST_WRITTEN:
        return None
    return Script(
        f"{name}/{row['id']}", "editing", f"{name}/{row['id']}", "", Path(row["path"]).name, before, tuple(steps)
    )


def _steps(before: str, after: str, hunks: list[list[Any]]) -> Iterator[Step]:
    """From the top: what is above a place has its new text already, what is below the old one."""
    old, new = before.split("\n"), after.split("\n")
    offset = 0  # of the document at this place, against `before`
    for op, i1, i2, j1, j2 in hunks:
        pairs = [(i1, i2, j1, j2)]
        if op == "replace" and i2 - i1 == j2 - j1:  # line by line, as a hand would
            pairs = [(i1 + n, i1 + n + 1, j1 + n, j1 + n + 1) for n in range(i2 - i1)]
        for a, b, c, d in pairs:
            start = sum(len(line) + 1 for line in old[:a])
            gone, come = ("".join(line + "\n" for line in of) for of in (old[a:b], new[c:d]))
            if start and not (gone and come):
                start, gone, come = start - 1, f"\n{gone}"[: len(gone)], f"\n{come}"[: len(come)]
            yield from _edit(start + offset, gone, come)
            offset += len(come) - len(gone)


def _edit(start: int, gone: str, come: str) -> Iterator[Step]:
    """Steps that replace `gone` at `start` by `come`, what both have at their ends left alone."""
    head = common(gone, come)
    tail = common(gone[head:][::-1], come[head:][::-1])
    gone, come = gone[head : len(gone) - tail], come[head : len(come) - tail]
    if not gone and not come:
        return
    yield Move(start + head + len(gone))
    if len(gone) >= SELECTED:
        yield Delete(len(gone))
    else:
        yield from (Delete(1) for _ in gone)
    if come:
        yield Write(come)
