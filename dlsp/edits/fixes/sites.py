"""The fixes of a page's errors as sites."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from dlsp.edits.fixes.imports import wanted
from dlsp.edits.fixes.placing import placed
from dlsp.edits.fixes.spelling import meant
from dlsp.edits.fixes.unknown import Unknown, unknown
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk
from dlsp.edits.search.page import Page, Site, in_time

# Log odds, by `python -m bench.edits.reported`: 30 of 32 imports are right, and all of 36 names.
IMPORT_ODDS, NAME_ODDS = 2.7, 3.6
# Those of what a language server prefers itself, not measured.
SERVER_ODDS = 3.0


def fixed(
    edit: Edit, own: Page, pages: Sequence[Page], changed: Sequence[tuple[int, int]], until: float
) -> Iterator[Site]:
    """Yield the fixes of what is reported in the edit's own lines: the server's own one, if it prefers one; else the
    import of an unknown name, or its right spelling.

    `changed` are the spans that the edit changed. None takes back what the edit did.
    """
    removed = {line for hunk in edit.hunks for line in edit.before[hunk.start : hunk.end]}
    imported: set[str] = set()
    told = {each.offset: each.fix for each in own.errors if each.fix and own.is_edited_at(each.offset)}
    preferred = (hunk for hunk in dict.fromkeys(told.values()) if not _brings_back(hunk, removed))
    yield from (_site(own, hunk, SERVER_ODDS) for hunk in preferred)
    misspelled: list[tuple[Unknown, str]] = []
    for each in in_time(unknown(own), until):
        if each.name in imported or each.offset in told:
            continue
        needed = wanted(each, own, pages) if own.language and own.language.name == "python" else None
        hunk = placed(needed, own) if needed else None
        if hunk and not _brings_back(hunk, removed):
            imported.add(each.name)
            yield _site(own, hunk, IMPORT_ODDS)
        elif (name := meant(each, own)) and not (_is_begun(each, own, changed) and name.startswith(each.name)):
            misspelled.append((each, name))
    for hunk in _respelled(misspelled, own):
        if not _brings_back(hunk, removed):
            yield _site(own, hunk, NAME_ODDS)


def _brings_back(hunk: Hunk, removed: set[str]) -> bool:
    """Whether a fix only writes lines that the edit has just taken away."""
    return removed.issuperset(line for line in hunk.lines if line.strip())


def _site(own: Page, hunk: Hunk, odds: float) -> Site:
    return Site(own, hunk.start, tuple(own.lines[hunk.start : hunk.end]), hunk.lines, odds)


def _is_begun(name: Unknown, own: Page, changed: Sequence[tuple[int, int]]) -> bool:
    """Whether the edit ends with this name, which may be the beginning of another."""
    at = name.offset + len(name.name)
    return any(start < at <= end and not own.text[at:end].strip() for start, end in changed)


def _respelled(found: Sequence[tuple[Unknown, str]], own: Page) -> Iterator[Hunk]:
    """Yield the lines with their names spelled right."""
    rows: dict[int, list[tuple[Unknown, str]]] = defaultdict(list)
    for each in found:
        rows[own.row(each[0].offset)].append(each)
    for row, names in rows.items():
        line = own.lines[row]
        for each, name in sorted(names, key=lambda pair: -pair[0].offset):
            at = each.offset - own.starts[row]
            line = line[:at] + name + line[at + len(each.name) :]
        yield Hunk(row, row + 1, (line,))
