"""`dlsp edits`: the sites that should follow a change, for scripts. The diff contains only the certain ones."""

import asyncio
import json
import re
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from dlsp.cli import project
from dlsp.cli._common import engine_of, show_diff, unified
from dlsp.context.workspace import Workspace, around
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import applied
from dlsp.edits.history.patch import read_patch
from dlsp.edits.rank.proposals import Proposal
from dlsp.edits.rewrite.written import next_edits
from dlsp.edits.search.files import others
from dlsp.edits.search.page import Page
from dlsp.errors import UserError
from dlsp.models.catalogue import Model
from dlsp.syntax import languages
from dlsp.wording import count

NONE = "none"


def add(subparsers: Any) -> None:
    """Register `dlsp edits` with argparse's sub-parsers."""
    edits = subparsers.add_parser("edits", help="find the places that must follow a change, and print them as a diff")
    edits.add_argument(
        "--diff", required=True, metavar="FILE", help="a unified diff of the change, made already; - reads it"
    )
    edits.add_argument(
        "--model", metavar="NAME", help=f"default: the project's, else the one for this machine; {NONE} asks none"
    )
    edits.add_argument("--json", action="store_true", help="print one JSON object")
    edits.set_defaults(run=run)


def run(args: Namespace) -> int:
    file, before = read_patch(_read(args.diff))
    settings = project.settings(file, None if args.model == NONE else args.model)
    workspace = around(file, settings.ignore)
    if why := workspace.excludes(file):
        raise UserError(f"{file} is never shown to the model: {why}.")
    text = file.read_bytes().decode("utf-8", "replace")
    edit = Edit.between(workspace.name(file), before, text)
    own = Page(str(file), edit.path, text, languages.of(file), tuple(edit.ranges()))
    found = asyncio.run(_found(None if args.model == NONE else settings.model, edit, own, workspace))
    if args.json:
        print(json.dumps({"file": str(file), "sites": [_as_json(each) for each in found]}))
    else:
        show_diff(_diffs([each for each in found if each.certain]))
        for line in _unsure([each for each in found if not each.certain]):
            print(line, file=sys.stderr)
        if not found:
            print("dlsp: no place follows this edit.", file=sys.stderr)
    return 0


async def _found(model: Model | None, edit: Edit, own: Page, workspace: Workspace) -> list[Proposal]:
    pages = [own]
    for path, text in others(workspace, edit, own):
        if not path.samefile(own.uri):
            pages.append(Page(str(path), workspace.name(path), text, languages.of(path)))
    if model is None:
        return await _all(None, edit, own, pages)
    async with await engine_of(model) as engine:
        return await _all(engine, edit, own, pages)


async def _all(engine: Any, edit: Edit, own: Page, pages: list[Page]) -> list[Proposal]:
    async with aclosing(next_edits(engine, edit, own, pages)) as found:
        return sorted([each async for each in found], key=lambda each: (each.site.page.uri, each.site.start))


def _read(name: str) -> str:
    """Read the diff, with the line endings of the file that it changes.

    If the whole diff was converted to CRLF, that is undone.
    """
    try:
        text = (sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()).decode("utf-8-sig")
        return text.replace("\r\n", "\n") if re.search(r"^\+\+\+ .*\r$", text, re.MULTILINE) else text
    except (OSError, ValueError):
        raise UserError(f"{name} cannot be read: give the file of a unified diff.") from None


def _unsure(found: list[Proposal]) -> Iterator[str]:
    """Yield lines that list the uncertain sites, each with its proposed text."""
    if found:
        yield f"dlsp: {count(len(found), 'place')} may follow too, and the diff leaves them out (--json has all):"
    for each in found:
        site = each.site
        yield f"  {site.page.path}:{site.start + 1}: {''.join(site.lines).strip()} ({each.confidence:.0%} sure)"


def _diffs(found: list[Proposal]) -> Iterator[str]:
    """Yield the lines of one diff per file."""
    for page in dict.fromkeys(each.site.page for each in found):
        after = applied(page.lines, [each.hunk for each in found if each.site.page == page])
        yield from unified(page.text, "".join(after), f"a/{page.path}", f"b/{page.path}")


def _as_json(proposal: Proposal) -> dict[str, Any]:
    site = proposal.site
    return {
        "file": site.page.uri,
        "line": site.start + 1,
        "old": "".join(site.old),
        "new": "".join(site.lines),
        "confidence": round(proposal.confidence, 3),
        "certain": proposal.certain,
    }
