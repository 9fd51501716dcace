"""`dlsp doctor`: run every check; each line says that all is well or what to do."""

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dlsp.errors import UserError
from dlsp.models.catalogue import Model
from dlsp.models.sizing import AUTO, named

if TYPE_CHECKING:
    from dlsp.doctor.check import Check


def add(subparsers: Any) -> None:
    """Register `dlsp doctor` with argparse's sub-parsers."""
    doctor = subparsers.add_parser("doctor", help="see whether everything works, and what to do if not")
    doctor.add_argument("--model", default=AUTO, metavar="NAME", help="default: the one for this machine")
    doctor.add_argument("--json", action="store_true", help="for a bug report: no source text, no user names")
    doctor.add_argument(
        "--last",
        type=int,
        nargs="?",
        const=20,
        metavar="N",
        help="instead: what was decided the last N times an editor asked (20), and how often each reason was given",
    )
    doctor.set_defaults(run=run)


def run(args: Namespace) -> int:
    if args.last is not None:
        return _last(args.last, args.json)
    found: list[Check] = []
    for check in checks(named(args.model)):
        found.append(check)
        if not args.json:
            _show(check)
    if args.json:
        print(
            json.dumps(
                {"good": all(each.good for each in found), "checks": [each.as_json() for each in found]}, indent=1
            )
        )
    return 0 if all(each.good for each in found) else 1


def _last(most: int, as_json: bool) -> int:
    from dlsp.doctor import last

    if most < 0:
        raise UserError(f"There are no {most} decisions: give a number from 0 to --last.")
    if as_json:
        print(json.dumps(last.as_json(most), indent=1))
    else:
        for line in last.lines(most):
            print(line)
    return 0


def checks(model: Model) -> "Iterator[Check]":
    """Yield the checks in order; the engine's checks run only if it is installed and the model file is valid."""
    from dlsp.cli._common import engine_of
    from dlsp.doctor import engine, machine, server, surroundings

    yield machine.versions()
    yield machine.processor()
    if without := engine.installed():
        yield machine.state_folder()
        yield without
    else:
        yield machine.memory(model)
        yield machine.disk(model)
        yield (writable := machine.state_folder())
        yield (file := engine.model_file(model))
        yield from engine.source(model)
        if file.good and writable.good:
            yield from asyncio.run(engine.checks(model, partial(engine_of, whole_reason=True)))
        yield engine.size()
    yield from asyncio.run(server.checks())
    yield surroundings.quiet()
    yield surroundings.editors()


def _show(check: "Check") -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, markup=False, soft_wrap=True)
    mark, style = ("ok", "green") if check.good else ("!!", "bold red")
    console.print(mark, style=style, end=" ")
    console.print(f"{check.name:11}{check.said}")
    if check.todo:
        console.print(f"   {'':11}{check.todo}", style="yellow")
