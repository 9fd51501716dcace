"""The two ways from a task to the text in its gap, and HumanEval's whole bodies as tasks."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench import humaneval
from bench.quality.sets import SETS, Task, load
from dlsp.completions import infill
from dlsp.completions.body import body
from dlsp.completions.infill import MAX_TOKENS
from dlsp.context.build import build
from dlsp.errors import UserError
from dlsp.function import Gap
from dlsp.syntax import languages
from dlsp.syntax.source import Source

# Whole bodies at the end of a file, and where two solved functions of other tasks follow, as in most files.
BODIES, FOLLOWED = "bodies", "followed"
NAMES = ("multi-line", "safim", BODIES, FOLLOWED)
WAYS = ("raw", "pipeline")
PATH = "solution.py"
_IMPORT = re.compile(r"^(?:from|import) .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """What the engine is asked for a task: the text around the gap and where it ends."""

    prefix: str
    suffix: str
    end: str
    max_tokens: int


def tasks(name: str, limit: int, seed: int = 0) -> list[Task]:
    """A sample of a set; raises Missing where its file is."""
    if name not in (BODIES, FOLLOWED):
        # The cursor stands on a line of its own, not before the text of the next one.
        lead = "\n" if SETS[name].lines else ""
        return [replace(task, suffix=f"{lead}{task.suffix}") for task in load(name, limit, seed)]
    solved = humaneval.tasks()
    found = [_body(row) for row in solved] if name == BODIES else [_followed(solved, at) for at in range(len(solved))]
    step = max(1, len(found) // limit)
    return found[::step][:limit]


def asked(task: Task, name: str, way: str) -> Asked:
    """What to ask: the whole text, or the window that dlsp chooses of it."""
    if way == "raw":
        whole = "body", MAX_TOKENS["body"]
        end, most = whole if name in (BODIES, FOLLOWED) else (SETS[name].end, SETS[name].max_tokens)
        return Asked(task.prefix, task.suffix, end, most)
    window = build(PATH, task.prefix, task.suffix, source=_source()).window
    end = "body" if name in (BODIES, FOLLOWED) else infill.end_rule(task.prefix)
    return Asked(window.prefix, window.suffix, end, MAX_TOKENS[end])


def finished(task: Task, name: str, way: str, answer: str) -> str:
    """The text that stands in the gap; "" where dlsp would show nothing."""
    if way == "raw":
        return answer
    if name not in (BODIES, FOLLOWED):
        return infill.insertable(answer, task.prefix, task.suffix, _source())[0]
    at = len(task.prefix)
    try:
        return body(answer, task.prefix + task.suffix, Gap(at, at, "", ""), _source())
    except UserError:
        return ""


def _source() -> Source | None:
    language = languages.of(Path(PATH))
    return Source(language) if language else None


def _body(row: dict[str, Any]) -> Task:
    solution, number = row["canonical_solution"], row["task_id"]
    return Task(number, row["entry_point"], row["prompt"], "", solution, row["test"])


def _followed(rows: list[dict[str, Any]], at: int) -> Task:
    """A body with the functions of the next two tasks behind it."""
    row, others = rows[at], [rows[(at + more) % len(rows)] for more in (1, 2)]
    follows = "".join(
        "\n\n\n" + _IMPORT.sub("", each["prompt"] + each["canonical_solution"]).strip() for each in others
    )
    prefix = row["prompt"].rstrip() + "\n    "
    return Task(f"{row['task_id']}/followed", row["entry_point"], prefix, follows + "\n", "", row["test"])
