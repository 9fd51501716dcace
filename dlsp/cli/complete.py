"""`dlsp complete`: print the suggestion for one position in a file."""

import asyncio
import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from dlsp.cli import place, project
from dlsp.cli._common import engine_of
from dlsp.cli.context import INDEX_S
from dlsp.completions import infill
from dlsp.completions.gate.learning import Learning
from dlsp.completions.service import CompletionService
from dlsp.completions.types import CompletionResult, Cursor, SkipReason
from dlsp.completions.worker import Worker
from dlsp.context.workspace import around
from dlsp.engine.connection import EnginePool, SilentListener
from dlsp.errors import UserError
from dlsp.settings.schema import MODES, Settings
from dlsp.syntax import languages

SCHEDULES = ("split", "merged")
# Skip reasons that mean the engine gave no answer; they say nothing about the position.
UNANSWERED = (SkipReason.MISSING, SkipReason.LOADING, SkipReason.FAILED, SkipReason.SLOW)
TIMEOUT_S = 600.0


def add(subparsers: Any) -> None:
    """Register `dlsp complete` with argparse's sub-parsers."""
    complete = subparsers.add_parser("complete", help="complete the code at one place of a file")
    complete.add_argument("place", metavar="FILE:LINE:COL", help="from 1; the column in characters")
    complete.add_argument("--model", metavar="NAME", help="default: the project's, else the one for this machine")
    complete.add_argument("--mode", choices=MODES, help="default: the project's, else verified")
    complete.add_argument("--schedule", choices=SCHEDULES, default="split", help="default: split")
    complete.add_argument("--end", choices=tuple(infill.MAX_TOKENS), help="default: by the cursor's line")
    complete.add_argument("--verbose", action="store_true", help="say what the suggestion cost, phase by phase")
    complete.add_argument("--json", action="store_true", help="print one JSON object")
    complete.set_defaults(run=run)


def run(args: Namespace) -> int:
    here = place.find(args.place)
    settings = project.settings(here.file, args.model, args.mode)
    args.mode = settings.mode
    end = args.end or infill.end_rule(here.before)
    made = asyncio.run(_completed(args, settings, here, end, Path(os.path.abspath(here.file))))
    if args.json:
        print(json.dumps(_as_json(args, here, end, made)))
    else:
        _show(args, here, made)
    return 0


async def _completed(args: Namespace, settings: Settings, here: place.Place, end: str, path: Path) -> CompletionResult:
    """Return the completion service's result for the cursor. Raises UserError if the file is excluded or the engine
    failed."""
    worker = Worker()
    engines = EnginePool(SilentListener())
    service = CompletionService(engines, Learning(), [], worker, speculates=False)
    workspace = around(path, settings.ignore, settings.context)
    cursor = Cursor(
        uri=path.as_uri(),
        path=path,
        name=workspace.name(path),
        language_id="",
        language=languages.of(path),
        version=None,
        text=here.before + here.after,
        settings=settings,
        workspace=workspace,
        before=here.before,
        after=here.after,
    )
    overrides = {"session": None, "end": end, "schedule": args.schedule}
    try:
        if why := await worker(workspace.excludes, path):
            raise UserError(f"{here.file} is never shown to the model: {why}.")
        await worker(workspace.bring_up_to_date, INDEX_S)
        async with await engine_of(settings.model):
            pass  # this only starts the engine; it keeps running
        result = await service.complete(cursor, invoked=True, timeout_s=TIMEOUT_S, overrides=overrides)
    finally:
        service.close()
        await engines.close()
        await worker(workspace.close)
        worker.close()
    if result.skip in UNANSWERED:
        raise UserError(result.note or f"There is no suggestion: {result.skip.value}.")
    return result


def _as_json(args: Namespace, here: place.Place, end: str, made: CompletionResult) -> dict[str, Any]:
    return {
        "file": str(here.file),
        "line": here.line,
        "column": here.column,
        "text": made.text,
        "replaced": made.replaced,
        "quiet": made.skip.value if made.skip else None,
        "mode": args.mode,
        "schedule": args.schedule,
        "end": end,
        "reason": made.reason,
        "cost": dict(made.cost),
    }


def _show(args: Namespace, here: place.Place, made: CompletionResult) -> None:
    from rich.console import Console

    from dlsp.cli.show import MARKS, cost_line, excerpt, time_line

    console = Console(highlight=False)
    marks = ("", "") if console.color_system else MARKS
    console.print(
        excerpt(here.before, made.text, here.after[made.replaced :], width=console.width, marks=marks), soft_wrap=True
    )
    if made.skip:
        console.print(f"No suggestion: {made.skip.value}.", style="yellow")
    mode = f"{args.mode}, {args.schedule}" if args.mode == "verified" else args.mode
    spent = cost_line(mode, made.cost) if args.verbose else time_line(made.cost)
    console.print(spent, style="dim", soft_wrap=not console.is_terminal)
