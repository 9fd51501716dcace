"""The files of the corpus in an endless random order, and an endless stream of segments drawn from them."""

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

# How often each kind of segment is drawn, relative to the others.
KIND_WEIGHTS = {"rest": 20, "line": 10, "block": 30, "body": 20, "span": 10, "plain": 10}
# A document gives one segment for each SEGMENT_CHARACTERS of its characters.
SEGMENT_CHARACTERS = 1_200

# The share of gaps that see one or two other files of their package.
WITH_FILES_SHARE = 0.25

# The least and the largest share of the window that such a file takes.
SNIPPET_SHARES = (1 / 20, 1 / 6)

# With less room than this, a segment is plain text instead of a gap.
MIN_GAP_WINDOW_TOKENS = 64

# The share of a window that lies before the gap.
PREFIX_SHARE = 2 / 3


class Documents:
    """The files of a split, numbered. `at` gives an endless order of their numbers, shuffled again in each pass, and
    `gap` cuts a gap from one of them.
    """

    def __init__(self, corpus: Path, split: str, seed: int, held_out: Collection[str] = ()) -> None:
        """`held_out` names packages that are held out in addition to those that the corpus holds out."""
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
        """Return the number of the document at `position` in the endless order."""
        turn, place = divmod(position, len(self.rows))
        if self._order[0] != turn:
            order = list(range(len(self.rows)))
            random.Random(f"{self._seed}/{turn}").shuffle(order)
            self._order = (turn, order)
        return self._order[1][place]

    def gap(self, number: int, kind: str, window: int, rng: random.Random) -> tuple[Gap, str] | None:
        """Cut a gap of this kind from a document. Returns the gap, with `window` characters around it, and the text
        that was in it; None if the place drawn allows none.
        """
        row = self.rows[number]
        text = row["text"]
        if (span := gaps.cut(text, kind, rng)) is None:
            return None
        start, end = span
        before = max(int(window * PREFIX_SHARE), window - (len(text) - end))
        prefix = text[max(0, start - before) : start]
        suffix = text[end : end + max(int(window * (1 - PREFIX_SHARE)), window - len(prefix))]
        return Gap(prefix, suffix, path=row["path"], files=self._files(number, window, rng)), text[start:end]

    def _files(self, number: int, window: int, rng: random.Random) -> tuple[File, ...]:
        others = self._packages[self.rows[number]["package"]]
        if len(others) < 2 or rng.random() >= WITH_FILES_SHARE:
            return ()
        chosen = [other for other in rng.sample(others, min(3, len(others))) if other != number][: rng.randint(1, 2)]
        return tuple(self._snippet(other, rng.uniform(*SNIPPET_SHARES) * window, rng) for other in chosen)

    def _snippet(self, number: int, characters: float, rng: random.Random) -> File:
        text = self.rows[number]["text"]
        start = text.rfind("\n", 0, rng.randrange(len(text))) + 1
        return File(self.rows[number]["path"], text[start : start + int(characters)])


class Stream:
    """Segments of the documents from `position` in the endless order on. The attribute `position` says where the next
    stream has to continue.
    """

    def __init__(self, documents: Documents, tokenizer: Tokenizer, position: int, rng: random.Random) -> None:
        self.position = position
        self._documents = documents
        self._tokenizer = tokenizer
        self._rng = rng
        self._numbers = self._advance()

    def segment(self, room: int) -> Segment:
        """Return a segment of at most `room` tokens; if `room` is small, of exactly `room`, so that rows become
        full.
        """
        while True:
            if made := self._make(next(self._numbers), room):
                return made

    def _make(self, number: int, room: int) -> Segment | None:
        rng, text = self._rng, self._documents.rows[number]["text"]
        kind = rng.choices(list(KIND_WEIGHTS), list(KIND_WEIGHTS.values()))[0]
        if kind == "plain" or room < MIN_GAP_WINDOW_TOKENS:
            return segments.plain(text, self._tokenizer, room, rng)
        # A token has about 3.5 characters, so this window is larger than needed; tokens beyond `room` are cut off.
        found = self._documents.gap(number, kind, 5 * room, rng)
        return segments.filled(*found, self._tokenizer, room) if found else None

    def _advance(self) -> Iterator[int]:
        while True:
            number = self._documents.at(self.position)
            self.position += 1
            for _ in range(max(1, len(self._documents.rows[number]["text"]) // SEGMENT_CHARACTERS)):
                yield number
