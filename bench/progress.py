"""How far a bench is: a bar on a terminal, ten lines in a log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

console = Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Gives a function to call after each of `total` pieces."""
    if total and console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as bars:
            task = bars.add_task(what, total=total)
            yield lambda: bars.advance(task)
        return
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if 10 * done // total > 10 * (done - 1) // total:
            console.print(f"{what}: {done} of {total}")

    yield advance
