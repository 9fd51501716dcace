"""Windows of files as `/v1/rewrite` asks about them, with their new text: to train and to score an edit update."""

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from dlsp_engine.errors import EngineError
from dlsp_engine.text.prompt import File
from dlsp_engine.text.rewrite import Rewrite, rewrite_prompt
from dlsp_engine.text.tokenizer import Tokenizer
from dlsp_engine.train.corpus.shards import Row
from dlsp_engine.train.documents import Documents
from dlsp_engine.train.fills import Fill
from dlsp_engine.train.recipe import EditRecipe
from dlsp_engine.train.refactorings import refactored

DIFF_NAME, DIFF_CONTEXT_LINES = "edit.diff", 3
ABOVE_LINES = (0, 6)  # the fewest and the most lines of a window above the user's edit
LENGTH_LINES = (10, 30)
BELOW_SHARE = 0.75  # share of windows that begin around the edit; the others are elsewhere in the file
UNRELATED_SHARE = 0.3  # share of refactored windows in which nothing should change that follow an edit of another file
MAX_TRIES = 10_000


@dataclass(frozen=True)
class Change:
    """Replace the lines `start` to `end` (excluded) of a text by `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Edited:
    """A text's lines, and the changes that together make an edit."""

    path: str
    lines: tuple[str, ...]
    changes: tuple[Change, ...]
    language: str

    def diff(self, number: int) -> str:
        """One change as the unified diff that dlsp sends."""
        one, around = self.changes[number], DIFF_CONTEXT_LINES
        parts = [f"--- a/{self.path}\n+++ b/{self.path}\n@@ @@\n"]
        for mark, lines in (
            (" ", self.lines[max(0, one.start - around) : one.start]),
            ("-", self.lines[one.start : one.end]),
            ("+", one.lines),
            (" ", self.lines[one.end : one.end + around]),
        ):
            parts += [mark + line.removesuffix("\n") + "\n" for line in lines]
        return "".join(parts)


class Windows:
    """Draws windows by the recipe's shares of kinds: `mined` and `refactored` ones should change, `nothing` after a
    mined edit and `done` after a refactoring are right as they are.
    """

    def __init__(
        self, mined: Sequence[Path], documents: Documents | None, tokenizer: Tokenizer, recipe: EditRecipe
    ) -> None:
        """`mined` are gzipped files of JSON lines, as `bench/edits/rows.py` describes them. Raises EngineError."""
        read = [edited(json.loads(line)) for path in mined for line in gzip.decompress(path.read_bytes()).splitlines()]
        self._mined = [each for each in read if len(each.changes) > 1]
        self._alone = [each for each in read if len(each.changes) == 1]
        self._documents, self._tokenizer, self._recipe = documents, tokenizer, recipe
        able = {"mined": self._mined, "nothing": self._alone, "refactored": documents, "done": documents}
        self.kinds = {kind: share for kind, share in recipe.kinds.items() if able[kind]}
        if not self.kinds:
            raise EngineError("The files of edits are empty, and no corpus is given.")

    def batch(self, turn: int) -> list[Fill]:
        """Return the windows of forward pass number `turn`, which are the same at every call."""
        rng = random.Random(f"{self._recipe.seed}/{turn}")
        made: list[Fill] = []
        while sum(len(one.prompt) + len(one.answer) for one in made) < self._recipe.tokens:
            made.append(self.draw(rng))
        return made

    def held_out(self, each: int) -> list[Fill]:
        """Return `each` windows of each kind."""
        rng = random.Random(0)
        return [self.draw(rng, kind) for kind in self.kinds for _ in range(each)]

    def draw(self, rng: random.Random, kind: str = "") -> Fill:
        """Return one window, of this kind or by the recipe's shares. Raises EngineError if none is found."""
        for _ in range(MAX_TRIES):
            one = kind or rng.choices(list(self.kinds), list(self.kinds.values()))[0]
            if one in ("mined", "nothing"):
                source = rng.choice(self._mined if one == "mined" else self._alone)
                made = self._made(source, one, rng, one == "nothing")
            else:
                made = self._from_corpus(one, rng)
            if made:
                return made
        raise EngineError("No window that is short enough was found; raise the recipe's 'longest'.")

    def _from_corpus(self, kind: str, rng: random.Random) -> Fill | None:
        assert self._documents
        rows = self._documents.rows
        row, other = rng.choice(rows), rng.choice(rows)
        found = made_up(row, rng)
        if not found or kind == "refactored":
            return self._made(found, kind, rng, False) if found else None
        if rng.random() < UNRELATED_SHARE:
            unrelated = made_up(other, rng)
            return (
                self._window(found.path, unrelated.diff(0), list(found.lines), [], 0, kind, found.language)
                if (unrelated)
                else None
            )
        return self._made(found, kind, rng, True)

    def _made(self, source: Edited, kind: str, rng: random.Random, is_done: bool) -> Fill | None:
        """Return a window of `source` after one of its changes, and perhaps those before it. `is_done`: after all of
        them.
        """
        changes = source.changes
        own = 0 if rng.random() < 0.5 else rng.randrange(len(changes))
        applied = set(range(len(changes))) if is_done else {own, *(range(own) if rng.random() < 0.5 else ())}
        now: list[str] = []
        places: dict[int, Change] = {}  # change -> where it stands in `now`
        at = 0
        for number, one in enumerate(changes):
            now += source.lines[at : one.start]
            lines = one.lines if number in applied else source.lines[one.start : one.end]
            places[number] = Change(len(now), len(now) + len(lines), one.lines)
            now += lines
            at = one.end
        now += source.lines[at:]
        first, keep = places[own].start, places[own].end
        left = [places[number] for number in places if number not in applied]
        if rng.random() < BELOW_SHARE:
            top = max(0, first - rng.randint(*ABOVE_LINES))
            bottom = max(keep + 1, top + rng.randint(*LENGTH_LINES))
        else:
            about = rng.choice(left).start if left else rng.randrange(len(now))
            length = rng.randint(*LENGTH_LINES)
            top = max(0, about - rng.randint(0, length - 1))
            bottom, keep = top + length, top
            if top < places[own].end and first < bottom:  # it holds the edit: as a window around it
                keep = min(bottom - 1, places[own].end)
        following = [one for one in left if keep <= one.start and one.end <= bottom]
        cut = [one for one in left if one not in following and one.start < bottom and one.end > keep]
        if cut or (bool(following) == (kind in ("nothing", "done"))):
            return None
        shifted = [Change(one.start - top, one.end - top, one.lines) for one in following]
        return self._window(source.path, source.diff(own), now[top:bottom], shifted, keep - top, kind, source.language)

    def _window(
        self, path: str, diff: str, lines: list[str], changes: list[Change], keep: int, kind: str, language: str
    ) -> Fill | None:
        new, at = list[str](), 0
        for one in changes:
            new += [*lines[at : one.start], *one.lines]
            at = one.end
        new += lines[at:]
        old_text, new_text = "".join(lines), "".join(new)
        if not old_text.strip() or not new_text.strip():
            return None
        asked = Rewrite(old_text, path=path, keep=keep, edits=(File(DIFF_NAME, diff),))
        after = Rewrite(new_text, path=path, keep=keep)
        if after.kept != asked.kept:
            return None
        prompt = rewrite_prompt(asked, self._tokenizer).tokens
        old, answer = asked.rest(self._tokenizer), after.rest(self._tokenizer)
        if len(prompt) + len(answer) > self._recipe.longest:
            return None
        shares = weighed(old, answer, self._recipe.copied)
        end = min(self._tokenizer.stops)
        return Fill(prompt, [*answer, end], kind, language, (*shares, self._recipe.copied))


def weighed(old: Sequence[int], new: Sequence[int], copied: float) -> list[float]:
    """Return the weight of each new token: 1 where the text changes, and where it goes on behind something that is
    taken away; `copied` elsewhere.
    """
    shares = [copied] * len(new)
    for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            for at in range(start, min(len(new), max(end, start + 1))):
                shares[at] = 1.0
    return shares


def edited(row: dict[str, Any]) -> Edited:
    """Read a mined edit."""
    before, after = (tuple(_lines(row[name])) for name in ("window_before", "window_after"))
    changes = tuple(Change(start, end, after[first:last]) for _, start, end, first, last in row["hunks"])
    return Edited(row["path"], before, changes, Path(row["path"]).suffix.removeprefix("."))


def made_up(row: Row, rng: random.Random) -> Edited | None:
    """Return some lines of a file of the corpus with a refactoring that has two places or more; None if the one that
    was drawn finds none.
    """
    lines = _lines(row["text"])
    length = rng.randint(*LENGTH_LINES)
    top = rng.randrange(max(1, len(lines) - length))
    part = tuple(lines[top : top + length])
    new = refactored(part, rng)
    if new is None:
        return None
    changes = [Change(at, at + 1, (line,)) for at, line in enumerate(new) if line != part[at]]
    joined: list[Change] = []
    for one in changes:
        if joined and joined[-1].end == one.start:
            joined[-1] = Change(joined[-1].start, one.end, joined[-1].lines + one.lines)
        else:
            joined.append(one)
    return Edited(row["path"], part, tuple(joined), row["language"]) if len(joined) > 1 else None


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1] + "\n"] if lines[-1] else [])
