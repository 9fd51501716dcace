"""llama.vim's ring of chunks: a few passages from where the user was, sent along as extra context."""

import random
import re
from dataclasses import dataclass, field

MOST, CHUNK, QUEUE, SMALLEST = 16, 64, 16, 3
# How like a passage a chunk may be: one newly picked, the one around the cursor.
SAME, NEAR = 0.9, 0.5
# Lines the cursor moves before chunks are picked anew, and how far around it.
FAR, SCOPE = 32, 1024


@dataclass
class Ring:
    """`chunks` are sent; `queued` ones are moved there one at a time, by `update`."""

    prefix: int
    suffix: int
    chunks: list[tuple[str, list[str]]] = field(default_factory=list)
    queued: list[tuple[str, list[str]]] = field(default_factory=list)
    _rng: random.Random = field(default_factory=lambda: random.Random(0))
    _picked: int | None = None

    @property
    def extra(self) -> list[dict[str, str]]:
        return [{"filename": name, "text": "\n".join(lines) + "\n"} for name, lines in self.chunks]

    def pick(self, name: str, lines: list[str]) -> None:
        """Queue a passage, or half a chunk by chance of a long one."""
        if len(lines) < SMALLEST:
            return
        chunk = lines if len(lines) + 1 < CHUNK else self._part(lines)
        if any(chunk == other for _, other in self.chunks + self.queued):
            return
        self.queued = [each for each in self.queued if likeness(each[1], chunk) <= SAME][-(QUEUE - 1) :]
        self.chunks = [each for each in self.chunks if likeness(each[1], chunk) <= SAME]
        self.queued.append((name, chunk))

    def around(self, name: str, lines: list[str], row: int) -> None:
        """A file is entered, left or written with the cursor in this row (from 0)."""
        self.pick(name, lines[max(0, row - CHUNK // 2) : row + CHUNK // 2])

    def asked(self, name: str, lines: list[str], row: int) -> None:
        """A suggestion is asked for: what lies just outside the window is picked, if the cursor came far."""
        if self._picked is not None and abs(row - self._picked) <= FAR:
            return
        self.pick(name, lines[max(0, row - SCOPE) : max(1, row - self.prefix)])
        self.pick(name, lines[row + self.suffix : row + self.suffix + CHUNK])
        self._picked = row

    def make_way(self, lines: list[str], row: int) -> None:
        """Drop chunks that are much like what is around the cursor."""
        here = self._part(lines[max(0, row - CHUNK // 2) : row + CHUNK // 2])
        self.chunks = [each for each in self.chunks if likeness(each[1], here) <= NEAR]

    def update(self) -> bool:
        """Move a queued chunk to those that are sent; False when there is none."""
        if not self.queued:
            return False
        self.chunks = [*self.chunks[-(MOST - 1) :], self.queued.pop(0)]
        return True

    def _part(self, lines: list[str]) -> list[str]:
        start = self._rng.randint(0, max(0, len(lines) - CHUNK // 2))
        return lines[start : start + CHUNK // 2]


def likeness(one: list[str], other: list[str]) -> float:
    """The share of words that two passages have in common, 0 to 1."""
    mine, theirs = (re.findall(r"\w+", "\n".join(lines)) for lines in (one, other))
    if not mine and not theirs:
        return 1.0
    known = set(mine)
    return 2 * sum(word in known for word in theirs) / (len(mine) + len(theirs))
