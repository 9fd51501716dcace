"""Unified diffs that `git apply` takes: lines as the file has them, its byte order mark and last line too."""

import sys
from collections.abc import Iterator
from difflib import unified_diff

from dlsp.edits.hunks import lines_of

UNENDED = "\n\\ No newline at end of file\n"


def unified(old: str, new: str, before: str, after: str) -> Iterator[str]:
    """The lines of the diff between two texts that are called `before` and `after`, each with its end."""
    # A name with blanks ends at a tab, else git would take it for a name and a date.
    before, after = (f"{name}\t" if " " in name else name for name in (before, after))
    for line in unified_diff(lines_of(old), lines_of(new), before, after):
        yield line if line.endswith("\n") else line + UNENDED


def show(lines: Iterator[str]) -> None:
    """Print them as bytes of UTF-8, as files have them: the terminal's encoding and line ends would change them."""
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(lines).encode())
    sys.stdout.buffer.flush()
