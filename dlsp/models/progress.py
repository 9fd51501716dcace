"""Progress of a download: a bar on a terminal, a few lines in a log."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from rich.progress import TaskID


class Progress(Protocol):
    """Shows the progress of a download."""

    def say(self, line: str) -> None:
        """Print a line for the user."""
        ...

    def at(self, what: str, done: int, total: int) -> None:
        """Report that `done` of `total` bytes of the phase `what` ("downloading", "checking", …) are done."""
        ...


class Silent:
    """Progress that is not shown."""

    def say(self, line: str) -> None: ...

    def at(self, what: str, done: int, total: int) -> None: ...


SILENT = Silent()


class Terminal:
    """Progress on stderr; use it as a context manager."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bars

        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        self._bars = Bars(TextColumn("{task.description}"), *columns, console=self._console)
        self._live = self._console.is_terminal
        self._tasks: dict[str, TaskID] = {}
        self._spoke = (time.monotonic(), "", 0)  # time, phase and tenth of the last line

    def __enter__(self) -> Self:
        if self._live:
            self._bars.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._live:
            self._bars.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    def at(self, what: str, done: int, total: int) -> None:
        if not self._live:
            self._line(what, done, total)
            return
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total)
        self._bars.update(self._tasks[what], completed=done, total=total)

    def _line(self, what: str, done: int, total: int) -> None:
        """Print a line per tenth, but at most one a second, so that quick phases print none."""
        tenth, (when, of, last) = 10 * done // total, self._spoke
        if (what, tenth) != (of, last) and time.monotonic() > when + 1:
            self._spoke = (time.monotonic(), what, tenth)
            self.say(f"{what}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
