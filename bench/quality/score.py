"""What a fill is worth: does the program pass its test, and how near is the text to the original's."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import SequenceMatcher

from bench.journal import Journal
from bench.quality import sandbox, tools
from bench.quality.fills import digest
from bench.quality.mistakes import breaks_syntax, repeats_suffix
from bench.quality.sets import GAP, Task
from bench.quality.tools import Program

AT_ONCE = 2


@dataclass(frozen=True)
class Score:
    """`similarity` is difflib's ratio, 0 to 1; it and `exact` leave white space at the end out of account. `repeats`
    and `breaks` are the `mistakes` of texts that do not pass.
    """

    passed: bool
    exact: bool
    similarity: float
    repeats: bool = False
    breaks: bool = False


def score(task: Task, text: str, why: str) -> Score:
    """The score of the text in the gap, given how its program ended."""
    mine, original = text.rstrip(), task.canonical.rstrip()
    similarity = SequenceMatcher(None, mine, original, autojunk=False).ratio()
    if why == "passed":
        return Score(True, mine == original, similarity)
    return Score(False, mine == original, similarity, repeats_suffix(task, text), breaks_syntax(task, text))


def program(task: Task, text: str) -> Program:
    """The whole program with the text in the gap, and its test.

    A Python program that reads and writes is a text to its test, which runs it.
    """
    source = task.whole.replace(GAP, text) if task.whole else f"{task.prefix}{text}{task.suffix}"
    if task.language != "python":
        return Program(source, task.language, task.test, task.cases)
    if task.whole:
        return Program(f"SOURCE = {source!r}\n{task.test}")
    call = f"\ncheck({task.entry_point})\n" if task.entry_point else ""
    return Program(f"{source}\n{task.test}{call}")


def judge(programs: Iterable[Program], journal: Journal, advance: Callable[[], None]) -> dict[Program, str]:
    """Run every different program once, two at a time, unless the journal has it; how each ended."""
    names = {program: named(program) for program in programs}
    lacking = {name: program for program, name in names.items() if name not in journal.entries}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            for name, verdict in zip(lacking, pool.map(_run, lacking.values()), strict=True):
                journal.add(name, verdict.why)
                advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {program: journal.entries[name] for program, name in names.items()}


def named(program: Program) -> str:
    """Under what a verdict is kept."""
    return digest(program.source if program.language == "python" else repr(program))


def _run(program: Program) -> sandbox.Verdict:
    return sandbox.run(program.source) if program.language == "python" else tools.run(program)
