"""The command line: one file per command; errors are printed as one sentence."""

import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dlsp import __version__
from dlsp.errors import UserError

if TYPE_CHECKING:
    from argparse import ArgumentParser

# These modules are imported inside `guarded`, because importing takes time and Ctrl-C may arrive meanwhile.

COMMANDS = (
    "complete",
    "context",
    "fill",
    "edits",
    "serve",
    "status",
    "doctor",
    "engine",
    "model",
    "api",
    "team",
    "bench",
    "train",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0, 1 for a user error, 70 for an internal error, 130 if
    interrupted."""
    os.umask(0o077)  # files created from here on are readable by the user only
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--stdio"]:  # the argument that editors usually start a server with
        given = ["serve", "--stdio"]

    def run() -> int:
        args = parser().parse_args(given)
        return args.run(args)

    return guarded(run)


def guarded(run: Callable[[], int]) -> int:
    """Call `run` and return the exit status; errors are printed on stderr as one sentence."""
    try:
        if sys.stdout is None:
            raise UserError("Standard output is closed: send it to a file or to /dev/null.")
        try:
            status = run()
        except SystemExit as ended:  # argparse has already printed the reason
            status = int(ended.code or 0)
        if not sys.stdout.closed:  # the language server closes it
            sys.stdout.flush()
        return status
    except UserError as error:
        print(f"dlsp: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 1
    except Exception as error:
        if why := _unprinted(error):
            print(f"dlsp: {why}", file=sys.stderr)
            return 1
        print(f"dlsp: Something went wrong inside dlsp; {_recorded()}", file=sys.stderr)
        return 70


def parser() -> "ArgumentParser":
    """The argument parser with all commands."""
    from argparse import ArgumentParser
    from importlib import import_module

    top = ArgumentParser(prog="dlsp", description="Local code completion, checked token by token.")
    top.add_argument("--version", action="version", version=f"dlsp {__version__}")
    subparsers = top.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"dlsp.cli.{name}").add(subparsers)
    return top


def _unprinted(error: Exception) -> str:
    """Why standard output could not be written; "" if the error has another cause."""
    if isinstance(error, UnicodeEncodeError) and not error.encoding.startswith("utf"):
        return f"Standard output is {sys.stdout.encoding}, which lacks some characters: set PYTHONIOENCODING=utf-8."
    try:
        if isinstance(error, OSError) and not sys.stdout.closed:
            sys.stdout.flush()  # fails again if flushing was what failed
            if error.errno == errno.ENOSPC and getattr(sys.stdout, "write_through", False):
                raise error  # with PYTHONUNBUFFERED there is nothing to flush
    except OSError as full:
        _discard_output()
        return f"Standard output cannot be written: {full.strerror}."
    return ""


def _discard_output() -> None:
    """Discard what is still buffered for standard output; otherwise Python reports an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _recorded() -> str:
    """Write the current traceback to a file and return a clause that names the file."""
    import traceback

    from dlsp import paths

    try:
        file = paths.state_dir() / "cli-error.log"
        file.write_text(traceback.format_exc(), encoding="utf-8")
    except (OSError, UserError):
        return "the details could not be written down."
    return f"the details are in {file}."
