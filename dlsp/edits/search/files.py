"""Files that are not open and may have sites of an edit, or what it lacks, because they contain a name of it."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

from dlsp.context.workspace import Workspace
from dlsp.edits.fixes.unknown import unknown
from dlsp.edits.history.edit import Edit
from dlsp.edits.search.arguments import changed as changed_arguments
from dlsp.edits.search.page import SEARCH_S, Page
from dlsp.edits.search.rules import rules_of
from dlsp.edits.search.tokens import PROSE
from dlsp.ignore.reading import read

# The most files, their bytes in all, and the seconds the search may take.
MAX_FILES, MAX_BYTES, MAX_SEARCH_S = 12, 400_000, 0.5
# The shortest name, in characters, that is searched in other files.
MIN_NAME_CHARACTERS = 4


def others(workspace: Workspace, edit: Edit, own: Page) -> list[tuple[Path, str]]:
    """Paths and texts of files in the workspace that contain one of the changed names, or a name that is reported as
    unknown, found within MAX_SEARCH_S.

    Files that name the edit's module come first, then the others; each the nearest first.
    """
    until = time.monotonic() + SEARCH_S
    renamed = (r.old[0] for r in rules_of(edit, own, until) if r.kind == "rename" and r.role not in PROSE)
    changed = (*renamed, *(each.name for each in changed_arguments(edit, own, until)))
    names = {name for name in changed if len(name) >= MIN_NAME_CHARACTERS}
    names |= {each.name for each in unknown(own)}
    return list(_holding(workspace, own, names)) if names else []


def _holding(workspace: Workspace, own: Page, names: set[str]) -> Iterator[tuple[Path, str]]:
    until, left = time.monotonic() + MAX_SEARCH_S, MAX_BYTES
    word, module = (re.compile(rf"\b(?:{'|'.join(map(re.escape, each))})\b") for each in (names, {own.module}))
    using: list[tuple[Path, str]] = []
    rest: list[tuple[Path, str]] = []
    for path in workspace.files(own.path, lambda: time.monotonic() < until):
        if len(using) == MAX_FILES:
            break
        try:
            text = read(path, MAX_BYTES, workspace.root).decode("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        if word.search(text):
            (using if module.search(text) else rest).append((path, text))
            del rest[MAX_FILES:]
    for path, text in (using + rest)[:MAX_FILES]:
        if len(text) <= left:
            left -= len(text)
            yield path, text
