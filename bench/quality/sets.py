"""The sets of HumanEval-Infilling and SAFIM's Python blocks, and where their files are."""

import random
from dataclasses import dataclass
from typing import Any

from bench.evals import Missing, rows
from dlsp.completions.filters import trim

INFILLING = "https://github.com/openai/human-eval-infilling/tree/master/data"
SAFIM = "https://huggingface.co/datasets/gonglinyuan/safim (the rows with lang python, as block.jsonl.gz)"

# Where the gap is in SAFIM's programs, and in its prompts.
GAP, TODO = "{{completion}}", "# TODO: Your code here"


@dataclass(frozen=True)
class Task:
    """One gap of a program and the test of the whole.

    `whole` is the program, with GAP in it, where the model is shown more than the program.
    """

    id: str
    entry_point: str
    prefix: str
    suffix: str
    canonical: str
    test: str
    whole: str = ""

    @property
    def problem(self) -> str:
        """The program that the gap was cut from; many tasks share one."""
        return self.id if self.whole else problem(self.id)


def problem(task: str) -> str:
    """The problem of HumanEval that a task was made of, by the task's id."""
    return task.split("/")[1]


@dataclass(frozen=True)
class EvalSet:
    """A file of tasks, where it is to be had, and how their gaps end. `lines`: each is of whole lines, the last line
    break too, so that the suffix begins with the next line's text; what the server offers has no such break.
    """

    file: str
    end: str
    max_tokens: int
    folder: str = "humaneval_infilling"
    source: str = INFILLING
    lines: bool = False

    def text(self, task: Task, fill: str) -> str:
        """What stands in the gap for a fill: a line as it is, else what the server would offer."""
        if self.end == "line":
            return fill + "\n"
        if self.lines:
            return trim(fill, task.prefix, f"\n{task.suffix}") + "\n"
        return trim(fill, task.prefix, task.suffix)


# The base seldom ends a gap by itself, so gaps end where the editor's would. As many tokens as the longest canonical
# solution takes: more only pays for answers that do not end.
SETS = {
    "single-line": EvalSet("HumanEval-SingleLineInfilling.jsonl.gz", "line", 64),
    "multi-line": EvalSet("HumanEval-MultiLineInfilling.jsonl.gz", "block", 256, lines=True),
    "random-span": EvalSet("HumanEval-RandomSpanInfilling.jsonl.gz", "block", 160),
    "random-span-light": EvalSet("HumanEval-RandomSpanInfillingLight.jsonl.gz", "block", 96),
    "safim": EvalSet("block.jsonl.gz", "block", 128, "safim_python", SAFIM),
}


def load(name: str, limit: int | None = None, seed: int = 0) -> list[Task]:
    """The tasks of a set in the file's order; with `limit`, a random sample of them drawn by `seed`.

    Raises Missing where DLSP_EVAL_DIR is unset or the file is not below it or not readable as such.
    """
    found = SETS[name]
    file = f"{found.folder}/{found.file}"
    read = _safim if found.source == SAFIM else _infilling
    try:
        tasks = [read(row) for row in rows(file, found.source)]
    except KeyError as error:
        raise Missing(f"{file} has other rows than expected (no {error}): get it again from {found.source}.") from error
    if limit is None or limit >= len(tasks):
        return tasks
    chosen = sorted(random.Random(seed).sample(range(len(tasks)), limit))
    return [tasks[index] for index in chosen]


def _infilling(row: dict[str, Any]) -> Task:
    return Task(
        id=row["task_id"].split("/", 1)[1],
        entry_point=row["entry_point"],
        prefix=row["prompt"],
        suffix=row["suffix"],
        canonical=row["canonical_solution"],
        test=row["test"],
    )


STDIN_TO_STDOUT = """
import io, sys
for given, wanted in TESTS:
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()))
    written = io.BytesIO()
    sys.stdout = io.TextIOWrapper(written, write_through=True)
    try:
        exec(compile(SOURCE, "program", "exec"), {"__name__": "__main__"})
    except SystemExit:
        pass
    sys.stdout.flush()
    said = written.getvalue().decode().lower().split()
    assert any(said == one.lower().split() for one in wanted)
"""


def _safim(row: dict[str, Any]) -> Task:
    """The model sees the problem's description before the program; the program reads and writes text."""
    prefix, _, suffix = row["prompt"].replace("\r\n", "\n").partition(TODO)
    tests = [(one["input"], one["output"]) for one in row["unit_tests"]]
    return Task(
        id=row["task_id"],
        entry_point="",
        prefix=prefix,
        suffix=suffix,
        canonical=row["ground_truth"].replace("\r\n", "\n"),
        test=f"TESTS = {tests!r}\n{STDIN_TO_STDOUT}",
        whole=row["eval_prompt"].replace("\r\n", "\n"),
    )
