"""A position in a file, as given on the command line."""

import re
from dataclasses import dataclass
from pathlib import Path

from dlsp.errors import UserError
from dlsp.wording import count


@dataclass(frozen=True)
class Place:
    """A cursor position in a file and the text on both sides; `line` and `column` count from 1, the column in
    characters."""

    file: Path
    line: int
    column: int
    before: str
    after: str


def find(name: str) -> Place:
    """Parse `FILE:LINE:COL`; raises UserError if there is no such position."""
    parts = re.fullmatch(r"(.+):(\d+):(\d+)", name, re.DOTALL)
    if not parts:
        raise UserError(f"'{name}' is no place: write FILE:LINE:COL, for example app.py:12:5.")
    return _place(Path(parts[1]), int(parts[2]), int(parts[3]))


def find_line(name: str) -> Place:
    """Parse `FILE:LINE` (a column after it is ignored) into the end of that line; raises UserError if there is no such
    line."""
    parts = re.fullmatch(r"(.+?):(\d+)(?::\d+)?", name, re.DOTALL)
    if not parts:
        raise UserError(f"'{name}' is no place: write FILE:LINE, for example app.py:12.")
    return _place(Path(parts[1]), int(parts[2]))


def read(file: Path) -> str:
    """Return the text of a source file with its own line endings; raises UserError if it cannot be read or is
    not text."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        raise UserError(f"There is no file {file}.") from None
    except IsADirectoryError:
        raise UserError(f"{file} is a folder; name a file.") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{file} is not UTF-8 text.") from None
    if "\0" in text:
        raise UserError(f"{file} is no text: it holds NUL bytes.")
    return text


def _place(file: Path, line: int, column: int | None = None) -> Place:
    """The position in the file; without `column`, the end of the line."""
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", read(file))
    if not 1 <= line <= len(lines):
        raise UserError(f"{file} has {count(len(lines), 'line')}, so there is no line {line}.")
    here = lines[line - 1]
    length = len(here.rstrip("\r\n"))
    column = length + 1 if column is None else column
    if not 1 <= column <= length + 1:
        raise UserError(
            f"Line {line} of {file} has {count(length, 'character')}: "
            f"give a column from 1 to {length + 1}, not {column}."
        )
    before, after = "".join(lines[: line - 1]) + here[: column - 1], here[column - 1 :] + "".join(lines[line:])
    return Place(file, line, column, before, after)
