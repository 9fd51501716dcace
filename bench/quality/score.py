"""What a fill is worth: does the program pass its test, and how near is the text to the original's."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import SequenceMatcher

from bench.journal import Journal
from bench.quality import sandbox
from bench.quality.fills import digest
from bench.quality.sets import GAP, Task

AT_ONCE = 2


@dataclass(frozen=True)
class Score:
    """`similarity` is difflib's ratio, 0 to 1; it and `exact` leave white space at the end out of account."""

    passed: bool
    exact: bool
    similarity: float


def score(task: Task, text: str, why: str) -> Score:
    """The score of the text in the gap, given how its program ended."""
    mine, original = text.rstrip(), task.canonical.rstrip()
    similarity = SequenceMatcher(None, mine, original, autojunk=False).ratio()
    return Score(why == "passed", mine == original, similarity)


def program(task: Task, text: str) -> str:
    """The whole program with the text in the gap, its test and the call of the test.

    A program that reads and writes is a text to its test, which runs it.
    """
    if task.whole:
        return f"SOURCE = {task.whole.replace(GAP, text)!r}\n{task.test}"
    return f"{task.prefix}{text}{task.suffix}\n{task.test}\ncheck({task.entry_point})\n"


def judge(programs: Iterable[str], journal: Journal, advance: Callable[[], None]) -> dict[str, str]:
    """Run every different program once, two at a time, unless the journal has it; how each ended."""
    wanted = {digest(text): text for text in programs}
    lacking = {name: text for name, text in wanted.items() if name not in journal.entries}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            runs = pool.map(sandbox.run, lacking.values())
            for name, verdict in zip(lacking, runs, strict=True):
                journal.add(name, verdict.why)
                advance()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return {text: journal.entries[name] for name, text in wanted.items()}
