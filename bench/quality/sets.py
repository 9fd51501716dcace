"""The sets of HumanEval-Infilling and where their files are."""

import gzip
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path

from dlsp.completion import trim
from dlsp.errors import UserError

SOURCE = "https://github.com/openai/human-eval-infilling/tree/master/data"


class Missing(UserError):
    """The evaluation data is not there; the message says what to do."""


@dataclass(frozen=True)
class Task:
    """One gap of a program and the test of the whole."""

    id: str
    entry_point: str
    prefix: str
    suffix: str
    canonical: str
    test: str

    @property
    def problem(self) -> str:
        """The program that the gap was cut from; many tasks share one."""
        return self.id.split("/")[1]


@dataclass(frozen=True)
class EvalSet:
    """A file of tasks and how their gaps end."""

    file: str
    end: str
    max_tokens: int

    def text(self, task: Task, fill: str) -> str:
        """What stands in the gap for a fill: a whole line with its line break, else what the server would offer."""
        return fill + "\n" if self.end == "line" else trim(fill, task.prefix, task.suffix)


# The base seldom ends a gap by itself, so gaps end where the editor's would. As many tokens as the longest canonical
# solution takes: more only pays for answers that do not end.
SETS = {
    "single-line": EvalSet("HumanEval-SingleLineInfilling.jsonl.gz", "line", 64),
    "multi-line": EvalSet("HumanEval-MultiLineInfilling.jsonl.gz", "block", 256),
    "random-span": EvalSet("HumanEval-RandomSpanInfilling.jsonl.gz", "block", 160),
    "random-span-light": EvalSet("HumanEval-RandomSpanInfillingLight.jsonl.gz", "block", 96),
}


def load(name: str, limit: int | None = None, seed: int = 0) -> list[Task]:
    """The tasks of a set in the file's order; with `limit`, a random sample of them drawn by `seed`.

    Raises Missing where DLSP_EVAL_DIR is unset or the file is not below it or not readable as such.
    """
    file = SETS[name].file
    root = os.environ.get("DLSP_EVAL_DIR")
    if not root:
        raise Missing(f"Set DLSP_EVAL_DIR to a folder that has humaneval_infilling/{file}, from {SOURCE}.")
    path = Path(root) / "humaneval_infilling" / file
    if not path.is_file():
        raise Missing(f"{path} is missing: download it from {SOURCE}, or set DLSP_EVAL_DIR to where it is.")
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            tasks = [_task(json.loads(line)) for line in lines]
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise Missing(f"{path} is damaged ({error}): download it again from {SOURCE}.") from error
    if limit is None or limit >= len(tasks):
        return tasks
    chosen = sorted(random.Random(seed).sample(range(len(tasks)), limit))
    return [tasks[index] for index in chosen]


def _task(row: dict[str, str]) -> Task:
    return Task(
        id=row["task_id"].split("/", 1)[1],
        entry_point=row["entry_point"],
        prefix=row["prompt"],
        suffix=row["suffix"],
        canonical=row["canonical_solution"],
        test=row["test"],
    )
