"""`dlsp complete`: a suggestion at one place of a file."""

import asyncio
import json
from argparse import Namespace
from typing import Any

from dlsp.cli import place, project
from dlsp.cli._common import engine_of
from dlsp.cli.context import seen
from dlsp.completions import infill
from dlsp.settings.schema import Settings
from dlsp.syntax import languages
from dlsp.syntax.source import Source

SCHEDULES = ("split", "merged")


def add(subparsers: Any) -> None:
    """Register `dlsp complete` with argparse's sub-parsers."""
    complete = subparsers.add_parser("complete", help="complete the code at one place of a file")
    complete.add_argument("place", metavar="FILE:LINE:COL", help="from 1; the column in characters")
    complete.add_argument("--model", metavar="NAME", help="default: the project's, else the one for this machine")
    complete.add_argument("--mode", choices=infill.MODES, help="default: the project's, else verified")
    complete.add_argument("--schedule", choices=SCHEDULES, default="split", help="default: split")
    complete.add_argument("--end", choices=tuple(infill.MOST_TOKENS), help="default: by the cursor's line")
    complete.add_argument("--verbose", action="store_true", help="say what the suggestion cost, phase by phase")
    complete.add_argument("--json", action="store_true", help="print one JSON object")
    complete.set_defaults(run=run)


def run(args: Namespace) -> int:
    here = place.find(args.place)
    settings = project.settings(here.file, args.model, args.mode)
    args.mode = settings.mode
    end = args.end or infill.end_rule(here.before)
    made = asyncio.run(_suggestion(args, settings, here, end))
    if args.json:
        print(json.dumps(_as_json(args, here, end, made)))
    else:
        _show(args, here, made)
    return 0


async def _suggestion(args: Namespace, settings: Settings, here: place.Place, end: str) -> infill.Suggestion:
    path, context = seen(here.file, here.before, here.after, settings)
    language = languages.of(here.file)
    async with await engine_of(settings.model) as engine:
        request = infill.request(context, path=path, mode=settings.mode, schedule=args.schedule, end=end)
        source = Source(language) if language else None
        return infill.suggestion(await engine.fill(request), here.before, here.after, source)


def _as_json(args: Namespace, here: place.Place, end: str, made: infill.Suggestion) -> dict[str, Any]:
    return {
        "file": str(here.file),
        "line": here.line,
        "column": here.column,
        "text": made.text,
        "quiet": made.quiet.value if made.quiet else None,
        "mode": args.mode,
        "schedule": args.schedule,
        "end": end,
        "reason": made.reason,
        "cost": made.cost,
    }


def _show(args: Namespace, here: place.Place, made: infill.Suggestion) -> None:
    from rich.console import Console

    from dlsp.cli.show import MARKS, cost_line, excerpt, time_line

    console = Console(highlight=False)
    marks = ("", "") if console.color_system else MARKS
    console.print(excerpt(here.before, made.text, here.after, width=console.width, marks=marks), soft_wrap=True)
    if made.quiet:
        console.print(f"No suggestion: {made.quiet.value}.", style="yellow")
    mode = f"{args.mode}, {args.schedule}" if args.mode == "verified" else args.mode
    spent = cost_line(mode, made.cost) if args.verbose else time_line(made.cost)
    console.print(spent, style="dim", soft_wrap=not console.is_terminal)
