"""`dlsp context`: show exactly what the model would see at one position in a file, and why."""

import json
import os
from argparse import Namespace
from itertools import groupby
from pathlib import Path
from typing import Any

from dlsp.cli import place, project
from dlsp.context.parts import Context, Part
from dlsp.context.tokens import within_bounds
from dlsp.errors import UserError
from dlsp.settings.schema import Settings

# Seconds that the first indexing of the workspace may take; later updates are quick.
INDEX_S = 10


def add(subparsers: Any) -> None:
    """Register `dlsp context` with argparse's sub-parsers."""
    context = subparsers.add_parser("context", help="show what the model would see at one place of a file, and why")
    context.add_argument("place", metavar="FILE:LINE:COL", help="from 1; the column in characters")
    context.add_argument("--tokens", type=int, metavar="N", help="the budget; default: as in the editor")
    context.add_argument("--json", action="store_true", help="print one JSON object")
    context.set_defaults(run=run)


def run(args: Namespace) -> int:
    here = place.find(args.place)
    path, context = seen(here.file, here.before, here.after, project.settings(here.file), args.tokens)
    if args.json:
        print(json.dumps(_as_json(path, context), ensure_ascii=False))
    else:
        _show(context)
    return 0


def seen(
    file: Path, before: str, after: str, settings: Settings, tokens: int | None = None, index_s: float = INDEX_S
) -> tuple[str, Context]:
    """Return the file's path relative to its workspace and the context for a gap between `before` and `after`.

    Raises UserError if the file is excluded.
    """
    from dlsp.context.workspace import around

    path = Path(os.path.abspath(file))
    workspace = around(path, settings.ignore, within_bounds(tokens) if tokens else settings.context)
    try:
        if why := workspace.excludes(path):
            raise UserError(f"{file} is never shown to the model: {why}.")
        workspace.bring_up_to_date(index_s)
        return workspace.name(path), workspace.context(path, before, after)
    finally:
        workspace.close()


def _as_json(path: str, seen: Context) -> dict[str, Any]:
    """`files`, `prefix` and `suffix` as they are sent to the engine, and the parts with the reasons for
    including them."""
    window = seen.window
    parts = [("other", part) for part in seen.others]
    parts += [("prefix", part) for part in seen.prefix] + [("suffix", seen.suffix)]
    return {
        "path": path,
        "files": seen.files,
        "prefix": window.prefix,
        "suffix": window.suffix,
        "parts": [
            {"where": where, "path": part.path, "line": part.row + 1, "tokens": part.tokens, "why": part.why}
            for where, part in parts
        ],
    }


def _show(seen: Context) -> None:
    """Print the text in prompt order; lines that start with ▌ are headings added here, ▮ marks the cursor."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)

    def heading(what: str, parts: list[Part]) -> None:
        count = sum(part.tokens for part in parts)
        every = dict.fromkeys(part.why for part in parts)
        # leave out "the enclosing function f" if "the enclosing function f, its last lines" is listed too
        whys = ", ".join(why for why in every if not any(each.startswith((f"{why},", f"{why} and")) for each in every))
        console.print(
            Text(f"▌ {what}, line {parts[0].row + 1}, about {count} tokens: {whys}", "bold cyan"), soft_wrap=True
        )

    def show(text: str) -> None:
        console.print(Text(text.removesuffix("\n")), soft_wrap=True)

    texts = {file["path"]: file["text"] for file in seen.files}
    for path, parts in groupby(seen.others, lambda part: part.path):
        heading(path, list(parts))
        show(texts[path])
    for _, same in groupby(seen.prefix, lambda part: part.why.split()[:2]):
        parts = list(same)
        heading(parts[0].path, parts)
        last = parts[-1] is seen.prefix[-1]
        show("".join(part.text for part in parts) + ("▮" if last else ""))
    heading(seen.suffix.path, [seen.suffix])
    show(seen.suffix.text)
    total = sum(part.tokens for part in (*seen.others, *seen.prefix, seen.suffix))
    console.print(
        Text(f"▌ about {total} tokens in all; ▮ is the cursor, text after it goes in a place of its own", "dim")
    )
