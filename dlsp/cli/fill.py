"""`dlsp fill`: the body of the function at one line of a file."""

import asyncio
import json
import os
import re
import sys
from argparse import Namespace
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any

from dlsp import atomic, suggest
from dlsp.body import request, write
from dlsp.cli import diff, project
from dlsp.cli.place import read
from dlsp.completion.endings import line_ending, with_endings
from dlsp.context.workspace import around
from dlsp.errors import UserError
from dlsp.function import Gap, gap
from dlsp.syntax import languages
from dlsp.syntax.source import Source
from dlsp.wording import count

_INDEX_S = 2


def add(subparsers: Any) -> None:
    """Register `dlsp fill` with argparse's sub-parsers."""
    fill = subparsers.add_parser("fill", help="write the body of the function at one line of a file, as a diff")
    fill.add_argument("place", metavar="FILE:LINE", help="a line of a function without a body; from 1")
    fill.add_argument("--write", action="store_true", help="write it into the file")
    fill.add_argument("--seed", type=int, default=0, help="another than 0 gives an alternative")
    fill.add_argument("--model", metavar="NAME", help="default: the project's, else the one for this machine")
    fill.add_argument("--mode", choices=suggest.MODES, help="default: the project's, else verified")
    fill.add_argument("--json", action="store_true", help="print one JSON object")
    fill.set_defaults(run=run)


def run(args: Namespace) -> int:
    file, line = place(args.place)
    raw, mark = read(file), _mark(file)
    text = raw.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        raise UserError(f"{file} has {count(len(lines), 'line')}, so there is no line {line}.")
    found = gap(text, sum(len(each) + 1 for each in lines[: line - 1]) + len(lines[line - 1]))
    if found is None:
        raise UserError(f"Line {line} of {file} is in no function without a body (nothing, `...`, `pass` or a TODO).")
    written = asyncio.run(_body(args, file, text, found))
    ending = line_ending(raw)
    start, end = _offset(raw, found.start), _offset(raw, found.end)
    filled = raw[:start] + with_endings(written, ending) + raw[end:]
    if args.write:
        save(file, mark + filled, read_as=raw)
    if args.json:
        print(json.dumps({"file": str(file), "line": line, "body": written, "written": args.write}))
    elif args.write:
        print(f"Line {line} of {file}: {count(len(written.strip().splitlines()), 'line')} written.", file=sys.stderr)
    else:
        diff.show(diff.unified(mark + raw, mark + filled, str(file), str(file)))
    return 0


def place(name: str) -> tuple[Path, int]:
    """The file and the line that `FILE:LINE` names."""
    parts = re.fullmatch(r"(.+?):(\d+)(?::\d+)?", name, re.DOTALL)
    if not parts:
        raise UserError(f"'{name}' is no place: write FILE:LINE, for example app.py:12.")
    return Path(parts[1]), int(parts[2])


def save(file: Path, text: str, read_as: str) -> None:
    """Put `text` in the file's place; UserError if the file is not any more what it was `read_as`, without its mark."""
    if read(file) != read_as:
        raise UserError(f"{file} has changed meanwhile, and was left as it is: run this again.")
    if not os.access(file, os.W_OK):  # it would be replaced, which its folder allows
        raise UserError(f"{file} is read-only: make it writable, or leave out --write for a diff.")
    try:
        atomic.write(file, text.encode())
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from None


async def _body(args: Namespace, file: Path, text: str, found: Gap) -> str:
    from dlsp.cli.waiting import engine_of

    settings = project.settings(file, args.model, args.mode)
    workspace = around(file, settings.ignore)
    path = Path(os.path.abspath(file))
    if why := workspace.excludes(path):
        raise UserError(f"This file is never shown to the model: {why}.")
    workspace.bring_up_to_date(_INDEX_S)
    language = languages.of(file)
    before, after = text[: found.start] + found.lead, found.tail + text[found.end :]
    try:
        context = workspace.context(path, before, after)
        async with await engine_of(settings.model) as engine:
            asked = request(context, workspace.name(path), settings.mode, args.seed)
            return await write(engine, asked, text, found, Source(language) if language else None)
    finally:
        workspace.close()


def _mark(file: Path) -> str:
    """The byte order mark that the file begins with, "" without one."""
    return "\ufeff" if file.read_bytes().startswith(BOM_UTF8) else ""


def _offset(raw: str, plain: int) -> int:
    """Where an offset of the text with `\\n` at its line ends lies in the text with its own."""
    at = 0
    for line in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r|\Z)", raw):
        length = len(line[0].rstrip("\r\n")) + (line[0][-1:] in ("\r", "\n"))
        if plain < at + length or line.end() == len(raw):
            return line.start() + min(plain - at, len(line[0]))
        at += length
    return len(raw)
