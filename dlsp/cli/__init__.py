"""The command line: one file per command, errors as one sentence."""

import os
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from importlib import import_module

from dlsp import __version__
from dlsp.errors import UserError

COMMANDS = ("complete", "context", "fill", "edits", "serve", "status", "doctor", "engine", "model", "bench", "train")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 0, 1 for a user's error, 70 for ours, 130 when interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--stdio"]:  # how editors like to start a server
        given = ["serve", "--stdio"]
    args = parser().parse_args(given)
    return guarded(lambda: args.run(args))


def guarded(run: Callable[[], int]) -> int:
    """The exit status of `run`, its errors told in one sentence on stderr."""
    try:
        status = run()
        if not sys.stdout.closed:  # as the language server leaves it
            sys.stdout.flush()
        return status
    except UserError as error:
        print(f"dlsp: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return 1
    except Exception:
        print(f"dlsp: Something went wrong inside dlsp; {_recorded()}", file=sys.stderr)
        return 70


def parser() -> ArgumentParser:
    """The whole command line."""
    top = ArgumentParser(prog="dlsp", description="Local code completion, checked token by token.")
    top.add_argument("--version", action="version", version=f"dlsp {__version__}")
    subparsers = top.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"dlsp.cli.{name}").add(subparsers)
    return top


def _recorded() -> str:
    """Write the traceback of the error at hand to a file, and say which."""
    from dlsp.engine import state

    try:
        file = state.folder() / "cli-error.log"
        file.write_text(traceback.format_exc(), encoding="utf-8")
    except (OSError, UserError):
        return "the details could not be written down."
    return f"the details are in {file}."
