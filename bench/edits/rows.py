"""Mined edits: a file after its first hunk, which stands for the user's own edit, and the hunks that followed.

A row is a line of JSON: `id`, `path`, `window_before`, `window_after`, `hunks` as `[op, i1, i2, j1, j2]` in their
lines, and `rename`, new names by old ones.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bench.evals import EDITS, rows
from dlsp.edits.history.edit import Edit
from dlsp.edits.history.hunks import Hunk, applied, canonical, lines_of
from dlsp.edits.search.page import Page
from dlsp.syntax import languages
from dlsp.syntax.source import Source

MADE = "refactorings"
LANGUAGES = ("python", "typescript", "javascript", "java", "cpp", "go", "rust")  # of these
SETS = ("train", "dev", "negatives-train", "negatives-dev", MADE)


class PatientPage(Page):
    """A page whose texts are parsed however long it takes, so that a busy machine changes no result."""

    def new_source(self) -> Source | None:
        return Source(self.language, None) if self.language else None


@dataclass(frozen=True)
class Row:
    """`hunks` are all changes from the lines of `before`; `rename` are the names that all hunks together rename."""

    id: str
    path: str
    before: str
    hunks: tuple[Hunk, ...]
    rename: dict[str, str]

    @cached_property
    def edit(self) -> Edit:
        """The user's."""
        return Edit(self.path, self.before, self.hunks[:1])

    @cached_property
    def page(self) -> Page:
        """The file as the user sees it."""
        text = "".join(applied(self.edit.before, self.edit.hunks))
        return PatientPage(self.id, self.path, text, languages.of(self.path), tuple(self.edit.ranges()))

    @cached_property
    def wanted(self) -> frozenset[Hunk]:
        """What should follow, as changes of the page's lines."""
        first = self.hunks[0]
        shift = len(first.lines) - (first.end - first.start)
        moved = (Hunk(each.start + shift, each.end + shift, each.lines) for each in self.hunks[1:])
        return frozenset(canonical(each, self.page.lines) for each in moved)

    @property
    def shows_rename(self) -> bool:
        """Whether the first hunk shows all that is renamed."""
        old = "".join(self.edit.before[self.hunks[0].start : self.hunks[0].end])
        new = "".join(self.hunks[0].lines)
        return bool(self.rename) and all(_holds(old, one) and _holds(new, other) for one, other in self.rename.items())

    def renamed(self) -> list[Hunk]:
        """What replacing the names everywhere, as whole words, would do; with the names given."""
        names = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in self.rename))
        found = []
        for row, line in enumerate(self.page.lines):
            new = names.sub(lambda match: self.rename[match[0]], line)
            if new != line and not self.page.is_edited(row, row + 1):
                found.append(Hunk(row, row + 1, (new,)))
        return found


def load(name: str) -> list[Row]:
    """The rows of a set, in its order. Raises Missing if it is not there."""
    if name == MADE:
        from bench.edits.refactorings import drawn  # PyTorch takes a second

        return drawn()
    return [_row(raw) for raw in rows(f"edits/{name}.jsonl.gz", EDITS)]


def _row(raw: dict[str, Any]) -> Row:
    after = lines_of(raw["window_after"])
    hunks = tuple(Hunk(start, end, tuple(after[first:last])) for _, start, end, first, last in raw["hunks"])
    return Row(raw["id"], raw["path"], raw["window_before"], hunks, raw.get("rename") or {})


def _holds(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None
