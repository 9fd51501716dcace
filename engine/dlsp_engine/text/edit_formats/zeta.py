"""The formats of Zed's Zeta 2 and 2.1, which are Seed-Coder-8B, trained further. Zeta 1's is in `zeta1`."""

import re
from itertools import pairwise

from dlsp_engine.text.edit_formats.own import EditFormat, Read, behind, in_tokens, shown, with_cursor, without
from dlsp_engine.text.prompt import Prompt
from dlsp_engine.text.rewrite import Rewrite
from dlsp_engine.text.tokenizer import Tokenizer

SUFFIX, PREFIX, MIDDLE = "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"
FILE = "<filename>"  # a token of its own, or text
HISTORY = "edit_history"
CURSOR = "<|user_cursor|>"
CURRENT, PARTED, UPDATED = "<<<<<<< CURRENT\n", "=======\n", ">>>>>>> UPDATED"
NO_EDITS = "NO_EDITS"
# Lines of a block, at least and at most; the most is exceeded rather than begin a block with a closing bracket.
LEAST_LINES, MOST_LINES = 6, 16
_MARKER = re.compile(r"<\|marker_(\d+)\|>\n?")


class Zeta2(EditFormat):
    """What stands behind the window; other files, edits as diffs, and the file up to the window; then the region, as in
    a conflict of git's: what of the window does not stay. The answer is the new region and the conflict's last line.
    """

    name = "zeta2"
    demanded = (SUFFIX, PREFIX, MIDDLE)
    marks = (CURSOR, CURRENT, UPDATED)
    stops = (UPDATED,)
    ends = True

    def prompt(self, asked: Rewrite, tokenizer: Tokenizer) -> Prompt:
        added = tokenizer.added
        file: str | int = added.get(FILE, FILE)
        parts: list[str | int] = [added[SUFFIX], behind(asked), added[PREFIX]]
        for other in asked.files:
            parts += [file, shown(other)]
        parts += ["\n"] if asked.files else []
        if asked.edits:
            history = "".join(edit.text.rstrip("\n") + "\n" for edit in asked.edits)
            parts += [file, f"{HISTORY}\n{history}\n"]
        parts += [file, f"{asked.path}\n{asked.prefix}{asked.kept}{self._region(asked)}", added[MIDDLE]]
        return in_tokens(parts, tokenizer)

    def draft(self, asked: Rewrite, tokenizer: Tokenizer) -> list[int]:
        return tokenizer.encode(asked.body[len(asked.kept) :] + UPDATED)

    def _read(self, asked: Rewrite, answer: str) -> Read:
        text, marks = without(CURSOR, answer)
        if not text.strip() or text.startswith(NO_EDITS):
            return Read(asked.text, len(asked.kept))
        return Read(asked.whole(text), len(asked.kept), marks)

    def _region(self, asked: Rewrite) -> str:
        return CURRENT + with_cursor(asked, CURSOR, len(asked.kept)) + PARTED


class Zeta21(Zeta2):
    """As Zeta 2's, but the region is cut into blocks by numbered markers. The answer has the new text of one block or
    several that follow each other, between the markers around them; the same marker twice, if nothing changes.
    """

    name = "zeta2.1"
    marks = (CURSOR, "<|marker_")
    stops = ()

    def draft(self, asked: Rewrite, tokenizer: Tokenizer) -> list[int]:
        """The block with the cursor."""
        cuts, at = _cuts(asked), asked.cursor or 0
        number = max([0, *(one for one, start in enumerate(cuts[:-1]) if start <= at)])
        block = asked.body[cuts[number] : cuts[number + 1]]
        return tokenizer.encode(f"{_marker(number)}\n{block}{_marker(number + 1)}")

    def _read(self, asked: Rewrite, answer: str) -> Read:
        cuts, found = _cuts(asked), list(_MARKER.finditer(answer))
        first, last = (int(one[1]) - 1 for one in (found[0], found[-1])) if found else (0, 0)
        if not 0 <= first < last < len(cuts):
            return Read(asked.text, len(asked.kept))
        start, end = found[0].end(), found[-1].start()
        inner = [(one.start(), one.end()) for one in found[1:-1]]
        inner += [cursor for cursor in without(CURSOR, answer)[1] if start <= cursor[0] < end]
        marks = [(0, start), *sorted(inner), (end, len(answer))]
        new = "".join(answer[left:right] for (_, left), (right, _) in pairwise(marks))
        body, kept = asked.body, len(asked.kept)
        return Read(asked.whole(body[kept : cuts[first]] + new + body[cuts[last] :]), cuts[first], tuple(marks))

    def _region(self, asked: Rewrite) -> str:
        cuts = _cuts(asked)
        blocks = (with_cursor(asked, CURSOR, first, last) for first, last in pairwise(cuts))
        marked = "".join(f"{_marker(number)}\n{block}" for number, block in enumerate(blocks))
        return f"{marked}{_marker(len(cuts) - 1)}\n"


def _marker(number: int) -> str:
    return f"<|marker_{number + 1}|>"


def _cuts(asked: Rewrite) -> list[int]:
    """Where in the window's text its blocks begin, and where the last one ends."""
    lines = [f"{line}\n" for line in asked.body[len(asked.kept) :].split("\n")[:-1]]
    starts = [0]
    for row in range(1, len(lines)):
        size, is_blank = row - starts[-1], not lines[row - 1].strip()
        if lines[row].lstrip().startswith((")", "]", "}")) or not lines[row].strip():
            continue
        if (size >= MOST_LINES or (size >= LEAST_LINES and is_blank)) and len(lines) - row >= LEAST_LINES:
            starts.append(row)
    widths = [len("".join(lines[:row])) for row in [*starts, len(lines)]]
    return [len(asked.kept) + width for width in widths]
