"""The evaluation sets, and where their files are: HumanEval-Infilling, and gaps in programs in several languages."""

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from bench.evals import Missing, rows
from bench.quality.tools import Cases
from dlsp.completions.filters import trim

INFILLING = "https://github.com/openai/human-eval-infilling/tree/master/data"
SAFIM = "https://huggingface.co/datasets/gonglinyuan/safim (the rows with lang python, as block.jsonl.gz)"
CUT = "gaps cut for this project, not published (bench/quality/sets.py says what a row holds)"

# Where the gap is in SAFIM's programs, and in its prompts.
GAP, TODO = "{{completion}}", "# TODO: Your code here"


@dataclass(frozen=True)
class Task:
    """One gap of a program and the test of the whole.

    `check(entry_point)` is called after the test, unless `entry_point` is empty. `whole` is the program, with GAP in
    it, where the model is shown more than the program. `path` is a file name to tell the model. `cases` are inputs of
    the program with the outputs that are right, in place of a test.
    """

    id: str
    entry_point: str
    prefix: str
    suffix: str
    canonical: str
    test: str
    whole: str = ""
    language: str = "python"
    path: str = ""
    cases: Cases = ()

    @property
    def problem(self) -> str:
        """The program that the gap was cut from; many tasks share one."""
        return self.id if self.whole else problem(self.id)


def problem(task: str) -> str:
    """The problem of HumanEval that a task was made of, by the task's id."""
    return task.split("/")[1]


@dataclass(frozen=True)
class EvalSet:
    """Files of tasks, where they are to be had, and how their gaps end. `lines`: each gap is of whole lines, the last
    line break too, so that the suffix begins with the next line's text; what the server offers has no such break.
    """

    files: tuple[str, ...]
    end: str
    max_tokens: int
    source: str = INFILLING
    lines: bool = False

    def text(self, task: Task, fill: str) -> str:
        """What stands in the gap for a fill: a line as it is, else what the server would offer."""
        after = f"\n{task.suffix}" if self.lines else task.suffix
        kept = fill if self.end == "line" else trim(fill, task.prefix, after)
        return f"{kept}\n" if self.lines else kept


def _infilled(name: str) -> tuple[str]:
    return (f"humaneval_infilling/HumanEval-{name}.jsonl.gz",)


LANGUAGES = ("cpp", "go", "java", "javascript", "python", "rust")

# The base seldom ends a gap by itself, so gaps end where the editor's would. As many tokens as the longest canonical
# solution takes: more only pays for answers that do not end.
SETS = {
    "single-line": EvalSet(_infilled("SingleLineInfilling"), "line", 64, lines=True),
    "multi-line": EvalSet(_infilled("MultiLineInfilling"), "block", 256, lines=True),
    "random-span": EvalSet(_infilled("RandomSpanInfilling"), "block", 160),
    "random-span-light": EvalSet(_infilled("RandomSpanInfillingLight"), "block", 96),
    "safim": EvalSet(("safim_python/block.jsonl.gz",), "block", 128, SAFIM),
    "languages-line": EvalSet(
        (
            *(f"humanevalpack_infill/{language}-line.jsonl.gz" for language in LANGUAGES),
            "mbxp_infill/typescript-line.jsonl.gz",
        ),
        "line",
        64,
        CUT,
    ),
    "languages-block": EvalSet(
        tuple(f"humanevalpack_infill/{language}-block.jsonl.gz" for language in LANGUAGES), "block", 128, CUT
    ),
    "safim-languages": EvalSet(("safim_block/cpp.jsonl.gz", "safim_block/java.jsonl.gz"), "block", 128, CUT),
}


def load(name: str, limit: int | None = None, seed: int = 0, languages: Collection[str] | None = None) -> list[Task]:
    """The tasks of a set in the order of its files; with `limit`, a random sample of each file's drawn by `seed`; with
    `languages`, those in these languages alone.

    Raises Missing where DLSP_EVAL_DIR is unset or a file is not below it or not readable as such.
    """
    found = SETS[name]
    read = READERS[found.source]
    tasks: list[Task] = []
    for file in found.files:
        try:
            own = [read(row) for row in rows(file, found.source)]
        except KeyError as error:
            raise Missing(
                f"{file} has other rows than expected (no {error}): get it again from {found.source}."
            ) from error
        if limit is not None and limit < len(own):
            own = [own[index] for index in sorted(random.Random(seed).sample(range(len(own)), limit))]
        tasks += [task for task in own if languages is None or task.language in languages]
    return tasks


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


def _cut(row: dict[str, Any]) -> Task:
    """A gap in a program of one of LANGUAGES or TypeScript, with a test that is appended, or in a program that reads
    and writes: the first `skip` characters of its prefix describe the problem and are not part of it.
    """
    skip = row.get("skip", 0)
    return Task(
        id=row["id"],
        entry_point="",  # the test calls it
        prefix=row["prefix"],
        suffix=row["suffix"],
        canonical=row["canonical"],
        test=row.get("test", ""),
        whole=f"{row['prefix'][skip:]}{GAP}{row['suffix']}" if skip else "",
        language=row["lang"],
        path=row["path"],
        cases=tuple((given, tuple(outputs)) for given, outputs in row.get("io", ())),
    )


READERS: dict[str, Callable[[dict[str, Any]], Task]] = {INFILLING: _infilling, SAFIM: _safim, CUT: _cut}
