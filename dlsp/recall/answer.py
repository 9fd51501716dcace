"""The engine's answer to one place of a document, whole or still growing, and what of it is left further on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlsp.completion.brackets import closes_alone, closes_below
from dlsp.context.parts import plain

NEAR = 2_000
"""Characters on both sides of a place by which it is known again."""


@dataclass(frozen=True)
class Rest:
    """What of an answer is left at a place: `text` with `\\n` at the line ends, after `typed` of it.

    `closers` are brackets and quotes that an editor has put behind the cursor meanwhile, on its line or below.
    """

    text: str
    typed: int
    closers: str = ""


@dataclass(eq=False)
class Answer:
    """What belongs between `before` and `after`, texts of a document around the offset `at`, of which near ones count.

    `confidence` is the engine's: characters and log-probability, token by token. `reason` says why the text ends; it is
    "" while the text grows.
    """

    at: int
    before: str
    after: str
    length: int  # of the text after the place
    text: str = ""
    reason: str = ""
    confidence: Sequence[Sequence[float]] = ()
    cost: dict[str, Any] = field(default_factory=dict)
    offered: Rest | None = None

    @classmethod
    def between(cls, before: str, after: str) -> "Answer":
        return cls(len(before), before[-NEAR:], after[:NEAR], len(after))

    def rest(self, before: str, after: str) -> Rest | None:
        """What is left of it at the cursor between `before` and `after`; None where the document went another way.

        Of an answer that has not grown so far yet, nothing is known.
        """
        if not 0 <= len(before) - self.at <= 2 * len(self.text):
            return None
        closers = self._closers(after)
        if closers is None or before[max(0, self.at - len(self.before)) : self.at] != self.before:
            return None
        typed = plain(before[self.at :])
        return Rest(self.text[len(typed) :], len(typed), closers) if self.text.startswith(typed) else None

    def leads(self, before: str, after: str) -> bool:
        """Whether typing on from between `before` and `after` may reach its place."""
        missing = self.at - len(before)
        if missing < 0 or self._closers(after) is None:
            return False
        known = self.before[: len(self.before) - missing]
        return missing < len(self.before) and before.endswith(known)

    def offer(self, rest: Rest, text: str) -> None:
        """`text` was offered where `rest` was left."""
        self.offered = Rest(text, rest.typed, rest.closers)

    def still_offered(self, rest: Rest) -> str:
        """What of the text offered last is left where `rest` is; "" if nothing is, or if it was typed otherwise."""
        if self.offered is None or rest.typed < self.offered.typed:
            return ""
        typed = self.text[self.offered.typed : rest.typed]
        return self.offered.text[len(typed) :] if plain(self.offered.text).startswith(typed) else ""

    def log_p(self, start: int, end: int) -> list[float]:
        """The log-probabilities of the tokens that wrote `text[start:end]`; of one begun before, what is left of it."""
        found, at = [], start
        for width, log_p in self.tokens(start):
            if at >= end:
                break
            found.append(log_p)
            at += width
        return found

    def tokens(self, start: int) -> Iterator[tuple[int, float]]:
        """The tokens that wrote `text[start:]`, as (characters, log-probability); of one begun before, what is left."""
        at = 0
        for width, log_p in self.confidence:
            left = min(width, at + width - start)
            if width and left > 0:
                yield int(left), log_p * left / width
            at += int(width)

    def _closers(self, after: str) -> str | None:
        """What an editor has closed by itself before the text after the place; None where that is another text."""
        closers = after[: max(0, len(after) - self.length)]
        same = len(after) == self.length + len(closers) and after.startswith(self.after, len(closers))
        return closers if same and (closes_alone(closers) or closes_below(closers)) else None
