"""`dlsp fill`: write the body of the function at one line of a file."""

import asyncio
import json
import os
import re
import sys
from argparse import Namespace
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from dlsp import atomic
from dlsp.cli import project
from dlsp.cli._common import engine_of, show_diff, unified
from dlsp.cli.context import seen
from dlsp.cli.place import find_line, read
from dlsp.completions.body import body, request, write
from dlsp.completions.filters.text import line_ending, with_endings, with_newlines
from dlsp.errors import UserError
from dlsp.function import Gap, gap
from dlsp.settings.schema import MODES
from dlsp.syntax import languages
from dlsp.syntax.source import Source
from dlsp.wording import count

# Seconds that updating the workspace index may take.
INDEX_S = 2


def add(subparsers: Any) -> None:
    """Register `dlsp fill` with argparse's sub-parsers."""
    fill = subparsers.add_parser("fill", help="write the body of the function at one line of a file, as a diff")
    fill.add_argument("place", metavar="FILE:LINE", help="a line of a function without a body; from 1")
    fill.add_argument("--write", action="store_true", help="write it into the file")
    fill.add_argument("--seed", type=int, default=0, help="another than 0 gives an alternative")
    fill.add_argument("--model", metavar="NAME", help="default: the project's, else the one for this machine")
    fill.add_argument("--mode", choices=MODES, help="default: the project's, else verified")
    fill.add_argument("--json", action="store_true", help="print one JSON object")
    fill.set_defaults(run=run)


def run(args: Namespace) -> int:
    here = find_line(args.place)
    file, line, raw, mark = here.file, here.line, here.before + here.after, _mark(here.file)
    text = with_newlines(raw)
    found = gap(text, len(with_newlines(here.before)))
    if found is None:
        raise UserError(f"Line {line} of {file} is in no function without a body (nothing, `...`, `pass` or a TODO).")
    written = asyncio.run(_body(args, file, text, found))
    start, end = _offset(raw, found.start), _offset(raw, found.end)
    filled = raw[:start] + with_endings(written, line_ending(raw)) + raw[end:]
    if args.write:
        save(file, mark + filled, read_as=raw)
    if args.json:
        print(json.dumps({"file": str(file), "line": line, "body": written, "written": args.write}))
    elif args.write:
        print(f"Line {line} of {file}: {count(len(written.strip().splitlines()), 'line')} written.", file=sys.stderr)
    else:
        show_diff(unified(mark + raw, mark + filled, str(file), str(file)))
    return 0


def save(file: Path, text: str, read_as: str) -> None:
    """Replace the file's content with `text`.

    Raises UserError if the file's text is no longer `read_as` (compared without a byte order mark).
    """
    if read(file) != read_as:
        raise UserError(f"{file} has changed meanwhile, and was left as it is: run this again.")
    if not os.access(file, os.W_OK):  # replacing it would only need write access to its folder
        raise UserError(f"{file} is read-only: make it writable, or leave out --write for a diff.")
    try:
        atomic.write(file, text.encode())
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from None


async def _body(args: Namespace, file: Path, text: str, found: Gap) -> str:
    settings = project.settings(file, args.model, args.mode)
    before, after = text[: found.start] + found.lead, found.tail + text[found.end :]
    path, context = seen(file, before, after, settings, index_s=INDEX_S)
    language = languages.of(file)
    async with await engine_of(settings.model) as engine:
        asked, source = request(context, path, settings.mode, args.seed), Source(language) if language else None

        async def finish(answer: str) -> str:
            return body(answer, text, found, source)

        return await write(engine, asked, finish)


def _mark(file: Path) -> str:
    """The byte order mark at the start of the file; "" if there is none."""
    return "\ufeff" if file.read_bytes().startswith(BOM_UTF8) else ""


def _offset(raw: str, plain: int) -> int:
    """Convert an offset in the text with `\\n` line endings into the offset in the original text."""
    at = plain
    for ending in re.finditer("\r\n", raw):
        if ending.start() >= at:
            break
        at += 1
    return at
