"""Commands that have commands of their own."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import Any

Command = tuple[str, Callable[[Namespace], int], str]
"""Its name, what it runs, and its line of help."""


def add(subparsers: Any, name: str, help: str, commands: Iterable[Command]) -> dict[str, ArgumentParser]:
    """Register `dlsp NAME COMMAND` for each of them; their parsers by name."""
    group = subparsers.add_parser(name, help=help).add_subparsers(required=True, metavar="COMMAND")
    made: dict[str, ArgumentParser] = {}
    for command, run, said in commands:
        made[command] = group.add_parser(command, help=said)
        made[command].set_defaults(run=run)
    return made
