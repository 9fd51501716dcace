"""One edit: what a place of a document was and what it became."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dlsp.edits.history.hunks import Hunk, hunks, lines_of
from dlsp.syntax.difference import difference

# Unchanged lines shown around a hunk.
DIFF_CONTEXT_LINES = 3
# Lines; what is longer is one hunk.
MAX_COMPARED_LINES = 2_000


@dataclass(frozen=True)
class Edit:
    """The document `path` had the text `text`; `hunks` are what became of it."""

    path: str
    text: str
    hunks: tuple[Hunk, ...]

    @classmethod
    def between(cls, path: str, before: str, after: str) -> "Edit":
        """By the lines that differ. Costs little where a long text changed in one place."""
        first, last, _ = difference(before, after)
        start, end = before.rfind("\n", 0, first) + 1, before.find("\n", last) + 1 or len(before)
        row = before.count("\n", 0, start)
        old, new = lines_of(before[start:end]), lines_of(after[start : len(after) - len(before) + end])
        # Comparing long texts line by line would take seconds.
        small = len(old) + len(new) <= MAX_COMPARED_LINES
        found = hunks(old, new) if small else [Hunk(0, len(old), tuple(new))]
        moved = (Hunk(each.start + row, each.end + row, each.lines) for each in found)
        return cls(path, before, tuple(moved))

    @cached_property
    def before(self) -> list[str]:
        """The lines that the document had."""
        return lines_of(self.text)

    @property
    def size(self) -> int:
        """Lines taken away and put there."""
        return sum(each.end - each.start + len(each.lines) for each in self.hunks)

    def ranges(self) -> list[tuple[int, int]]:
        """The rows of the changed lines in the text after the edit; of a deletion an empty range."""
        shift, found = 0, []
        for each in self.hunks:
            found.append((each.start + shift, each.start + shift + len(each.lines)))
            shift += len(each.lines) - (each.end - each.start)
        return found

    def diff(self, around: int = DIFF_CONTEXT_LINES) -> str:
        """As a unified diff whose hunk headers hold no numbers."""
        parts = [f"--- a/{self.path}\n+++ b/{self.path}\n"]
        for each in self.hunks:
            parts += ["@@ @@\n", diff_lines(" ", self.before[max(0, each.start - around) : each.start])]
            parts += [diff_lines("-", self.before[each.start : each.end]), diff_lines("+", each.lines)]
            parts.append(diff_lines(" ", self.before[each.end : each.end + around]))
        return "".join(parts)


def diff_lines(mark: str, lines: Sequence[str]) -> str:
    """Lines as a diff has them, behind a mark and each with an end."""
    return "".join(mark + line.removesuffix("\n") + "\n" for line in lines)
