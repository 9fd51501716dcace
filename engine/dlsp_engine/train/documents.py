"""The corpus as documents in an order by chance, and segments drawn from them without end."""

import random
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import File, Gap
from dlsp_engine.text.tokenizer import Tokenizer
from dlsp_engine.train import gaps, segments
from dlsp_engine.train.corpus import shards
from dlsp_engine.train.corpus.shards import Row
from dlsp_engine.train.segments import Segment

SHARES = {"rest": 20, "line": 10, "block": 30, "body": 20, "span": 10, "plain": 10}
CHARACTERS = 1_200
"""A document gives one segment for each so many of its characters."""

WITH_FILES = 0.25
SNIPPET = (1 / 20, 1 / 6)
"""Share of gaps that see one or two other files of their package, and how much of the window one takes."""

LITTLE = 64
"""Tokens that are no room for a gap."""

BEFORE = 2 / 3
"""The share of a window that lies before the gap."""


class Documents:
    """The files of a split; `segment` goes through them from document number `position` on, pass after pass."""

    def __init__(self, corpus: Path, split: str, seed: int, held_out: Collection[str] = ()) -> None:
        """`held_out` names packages that count as such beside those that the corpus holds out."""
        self.rows: list[Row] = [
            row
            for each in ("train", "heldout")
            for row in shards.rows(corpus, each)
            if (each == "heldout" or row["package"] in held_out) == (split == "heldout")
        ]
        if not self.rows:
            raise EngineError(f"The corpus in {corpus} has no files of the split '{split}'; build a larger one.")
        self._packages: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(self.rows):
            self._packages[row["package"]].append(number)
        self._seed = f"{seed}/{split}"
        self._order: tuple[int, list[int]] = (-1, [])

    def at(self, position: int) -> int:
        """The document that stands at this place of the endless order."""
        turn, place = divmod(position, len(self.rows))
        if self._order[0] != turn:
            order = list(range(len(self.rows)))
            random.Random(f"{self._seed}/{turn}").shuffle(order)
            self._order = (turn, order)
        return self._order[1][place]

    def gap(self, number: int, kind: str, window: int, rng: random.Random) -> tuple[Gap, str] | None:
        """A gap of this kind in a document, `window` characters around it, and what stands in it."""
        row = self.rows[number]
        text = row["text"]
        if (span := gaps.cut(text, kind, rng)) is None:
            return None
        start, end = span
        before = max(int(window * BEFORE), window - (len(text) - end))
        prefix = text[max(0, start - before) : start]
        suffix = text[end : end + max(int(window * (1 - BEFORE)), window - len(prefix))]
        return Gap(prefix, suffix, path=row["path"], files=self._files(number, window, rng)), text[start:end]

    def _files(self, number: int, window: int, rng: random.Random) -> tuple[File, ...]:
        others = self._packages[self.rows[number]["package"]]
        if len(others) < 2 or rng.random() >= WITH_FILES:
            return ()
        chosen = [other for other in rng.sample(others, min(3, len(others))) if other != number][: rng.randint(1, 2)]
        return tuple(self._snippet(other, rng.uniform(*SNIPPET) * window, rng) for other in chosen)

    def _snippet(self, number: int, characters: float, rng: random.Random) -> File:
        text = self.rows[number]["text"]
        start = text.rfind("\n", 0, rng.randrange(len(text))) + 1
        return File(self.rows[number]["path"], text[start : start + int(characters)])


class Stream:
    """Segments from document number `position` on; `position` then says where the next stream goes on."""

    def __init__(self, documents: Documents, tokenizer: Tokenizer, position: int, rng: random.Random) -> None:
        self.position = position
        self._documents = documents
        self._tokenizer = tokenizer
        self._rng = rng
        self._numbers = self._advance()

    def segment(self, room: int) -> Segment:
        """At most `room` tokens; exactly so many where little room is left, so that rows come out full."""
        while True:
            if made := self._make(next(self._numbers), room):
                return made

    def _make(self, number: int, room: int) -> Segment | None:
        rng, text = self._rng, self._documents.rows[number]["text"]
        kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
        if kind == "plain" or room < LITTLE:
            return segments.plain(text, self._tokenizer, room, rng)
        # Some 3.5 characters are a token; what is too much is cut off as tokens.
        found = self._documents.gap(number, kind, 5 * room, rng)
        return segments.filled(*found, self._tokenizer, room) if found else None

    def _advance(self) -> Iterator[int]:
        while True:
            number = self._documents.at(self.position)
            self.position += 1
            for _ in range(max(1, len(self._documents.rows[number]["text"]) // CHARACTERS)):
                yield number
