"""Helpers shared by several commands: sub-commands, commands run as another module, engine start-up, and diffs."""

import asyncio
import signal
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from dlsp.errors import UserError

if TYPE_CHECKING:
    from dlsp.engine.client import Engine
    from dlsp.models.catalogue import Model

# A sub-command: its name, its function, and its help line.
Command = tuple[str, Callable[[Namespace], int], str]

NO_NEWLINE = "\n\\ No newline at end of file\n"


def add_group(subparsers: Any, name: str, help: str, commands: Iterable[Command]) -> dict[str, ArgumentParser]:
    """Register `dlsp NAME COMMAND` for each command; returns their parsers by name."""
    group = subparsers.add_parser(name, help=help).add_subparsers(required=True, metavar="COMMAND")
    made: dict[str, ArgumentParser] = {}
    for command, run, said in commands:
        made[command] = group.add_parser(command, help=said)
        made[command].set_defaults(run=run)
    return made


def add_module(subparsers: Any, name: str, help: str) -> Any:
    """Register a command that runs another Python module, which receives all arguments, `--help` included."""
    parser = subparsers.add_parser(name, help=help, add_help=False, prefix_chars="\0")  # no argument begins with NUL
    parser.add_argument("arguments", nargs="*")
    return parser


def run_module(module: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run `python -m module` in a child process, because this process never imports PyTorch; returns its exit status.

    SIGTERM is passed on to the child. Ctrl-C reaches the child directly.
    """
    # -P keeps a torch.py in the current folder from being imported instead of the library.
    child = subprocess.Popen([sys.executable, "-P", "-m", module, *arguments], env=environment)

    def end(signal_number: int, frame: object) -> None:
        child.terminate()

    before = signal.signal(signal.SIGTERM, end)
    try:
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                continue
    finally:
        signal.signal(signal.SIGTERM, before)


async def engine_of(model: "Model", *, whole_reason: bool = False) -> "Engine":
    """Return the running engine of `model`; start it if there is none, with progress on stderr. Raises UserError, which
    leaves the reason out if that was the last line of the progress, unless the `whole_reason` is wanted.
    """
    from dlsp.engine import launch
    from dlsp.models.pull import wrong_source

    if wrong := wrong_source(model):
        print(f"dlsp: {wrong}", file=sys.stderr)
    if engine := await launch.connect(model):
        return engine
    try:
        return await _started(model, whole_reason)
    except asyncio.CancelledError:  # Ctrl-C
        _say_that_it_goes_on(model)
        raise


async def _started(model: "Model", whole_reason: bool) -> "Engine":
    from rich.console import Console

    from dlsp.engine import launch

    console = Console(stderr=True, highlight=False)
    if console.is_terminal:
        with console.status(f"Starting the engine of {model.short}") as status:
            return await launch.ensure(model, lambda line: status.update(line.replace("[", r"\[")))
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        console.print(line, markup=False, soft_wrap=True)

    try:
        return await launch.ensure(model, say)
    except UserError as error:
        if said and said[-1] in str(error) and not whole_reason:
            raise UserError(str(error).replace(f": {said[-1]}", "")) from error
        raise


def _say_that_it_goes_on(model: "Model") -> None:
    from dlsp.engine import state

    if state.alive(model.name):
        print(
            f"\ndlsp: The engine of {model.short} goes on loading; `dlsp engine stop` ends it.",
            file=sys.stderr,
            flush=True,
        )


def unified(old: str, new: str, before: str, after: str) -> Iterator[str]:
    """Yield the lines of a unified diff between `old` and `new`, each with its line end, in a form that `git apply`
    accepts.

    `before` and `after` are the two file names.
    """
    from dlsp.edits.history.hunks import lines_of

    # A name with blanks must end with a tab; otherwise git reads the text after the blank as a date.
    before, after = (f"{name}\t" if " " in name else name for name in (before, after))
    for line in unified_diff(lines_of(old), lines_of(new), before, after):
        yield line if line.endswith("\n") else line + NO_NEWLINE


def show_diff(lines: Iterator[str]) -> None:
    """Print lines as UTF-8 bytes, so that the terminal's encoding and line endings do not change the files' content."""
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(lines).encode())
    sys.stdout.buffer.flush()
