"""One edit: the text before it, and its hunks."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dlsp.edits.history.hunks import Hunk, hunks, lines_of
from dlsp.syntax.difference import difference

# Unchanged lines shown around a hunk in a diff.
DIFF_CONTEXT_LINES = 3
# If the changed region has more lines, it becomes one hunk.
MAX_COMPARED_LINES = 2_000


@dataclass(frozen=True)
class Edit:
    """An edit of the document `path`, whose text was `text` before; `hunks` are the changes."""

    path: str
    text: str
    hunks: tuple[Hunk, ...]

    @classmethod
    def between(cls, path: str, before: str, after: str) -> "Edit":
        """The edit between two texts, by lines; fast if a long text changed in one place."""
        first, last, _ = difference(before, after)
        start, end = before.rfind("\n", 0, first) + 1, before.find("\n", last) + 1 or len(before)
        row = before.count("\n", 0, start)
        old, new = lines_of(before[start:end]), lines_of(after[start : len(after) - len(before) + end])
        # Comparing many lines one by one would take seconds.
        small = len(old) + len(new) <= MAX_COMPARED_LINES
        found = hunks(old, new) if small else [Hunk(0, len(old), tuple(new))]
        moved = (Hunk(each.start + row, each.end + row, each.lines) for each in found)
        return cls(path, before, tuple(moved))

    @cached_property
    def before(self) -> list[str]:
        """The document's lines before the edit."""
        return lines_of(self.text)

    @property
    def size(self) -> int:
        """The number of lines removed plus lines added."""
        return sum(each.end - each.start + len(each.lines) for each in self.hunks)

    def ranges(self) -> list[tuple[int, int]]:
        """The rows of the changed lines in the new text, as (first, end); empty for a deletion."""
        shift = 0
        found: list[tuple[int, int]] = []
        for each in self.hunks:
            found.append((each.start + shift, each.start + shift + len(each.lines)))
            shift += len(each.lines) - (each.end - each.start)
        return found

    def diff(self, around: int = DIFF_CONTEXT_LINES) -> str:
        """The edit as a unified diff without line numbers in its hunk headers."""
        parts = [f"--- a/{self.path}\n+++ b/{self.path}\n"]
        for each in self.hunks:
            parts += ["@@ @@\n", diff_lines(" ", self.before[max(0, each.start - around) : each.start])]
            parts += [diff_lines("-", self.before[each.start : each.end]), diff_lines("+", each.lines)]
            parts.append(diff_lines(" ", self.before[each.end : each.end + around]))
        return "".join(parts)


def diff_lines(mark: str, lines: Sequence[str]) -> str:
    """The lines as in a diff, each with `mark` in front and a line end."""
    return "".join(mark + line.removesuffix("\n") + "\n" for line in lines)
