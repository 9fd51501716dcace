"""Per-document cache of engine completions: typing that agrees with a cached one needs no engine request."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlsp.completions.filters.rest_of_line import cut_rest_of_line, unmatched
from dlsp.context.parts import plain
from dlsp.syntax.brackets import closes_alone, closes_below

# Characters on each side of the cursor that must be unchanged for a cached completion to apply.
MATCHED_CHARACTERS = 2_000
MAX_CACHED_COMPLETIONS = 32
# The reason of a completion that ends where it was at the deadline.
CUT = "deadline"
# The reasons after which the model has more to write.
UNFINISHED = ("length", CUT)


@dataclass(frozen=True)
class Remainder:
    """The rest of a completion at a cursor: `text`, with `\\n` line endings, after `typed` of its characters.

    `closers` are the brackets and quotes that the editor has auto-inserted after the cursor since, on its line or
    below.
    """

    text: str
    typed: int
    closers: str = ""


@dataclass(eq=False)
class CachedCompletion:
    """The engine's completion between `before` and `after`, complete or still arriving.

    `before` and `after` are the nearest MATCHED_CHARACTERS around the cursor, which was at offset `at`; `after_length`
    is the length of all text after it. `confidence` has (characters, log-probability) of each token. `reason` says why
    the text ended: the engine's reason, or CUT; it is "" while the text is still arriving. `shown` is the part that was
    last shown.
    """

    at: int
    before: str
    after: str
    after_length: int
    text: str = ""
    reason: str = ""
    confidence: Sequence[Sequence[float]] = ()
    cost: dict[str, Any] = field(default_factory=dict[str, Any])
    shown: Remainder | None = None

    @classmethod
    def between(cls, before: str, after: str) -> "CachedCompletion":
        """Create an empty completion at the cursor between `before` and `after`."""
        return cls(len(before), before[-MATCHED_CHARACTERS:], after[:MATCHED_CHARACTERS], len(after))

    def remainder(self, before: str, after: str) -> Remainder | None:
        """The rest of the completion at the cursor between `before` and `after`; None if the document does not match.

        While the completion is arriving, a document that already has more text than it does not match either.
        """
        if not 0 <= len(before) - self.at <= 2 * len(self.text):
            return None
        closers = self._closers(after)
        if closers is None or before[max(0, self.at - len(self.before)) : self.at] != self.before:
            return None
        typed = plain(before[self.at :])
        return Remainder(self.text[len(typed) :], len(typed), closers) if self.text.startswith(typed) else None

    def is_ahead_of(self, before: str, after: str) -> bool:
        """Whether further typing at the cursor between `before` and `after` may reach the place this completion starts
        at."""
        missing = self.at - len(before)
        if missing < 0 or self._closers(after) is None:
            return False
        known = self.before[: len(self.before) - missing]
        return missing < len(self.before) and before.endswith(known)

    def still_shown(self, remainder: Remainder) -> str:
        """The rest of the text that was last shown; "" if none is left or something else was typed."""
        if self.shown is None or remainder.typed < self.shown.typed:
            return ""
        typed = self.text[self.shown.typed : remainder.typed]
        return self.shown.text[len(typed) :] if plain(self.shown.text).startswith(typed) else ""

    def log_p(self, start: int, end: int) -> list[float]:
        """The log-probabilities of the tokens of `text[start:end]`; a token cut by `start` counts in proportion."""
        found: list[float] = []
        at = start
        for width, log_p in self.tokens(start):
            if at >= end:
                break
            found.append(log_p)
            at += width
        return found

    def tokens(self, start: int) -> Iterator[tuple[int, float]]:
        """Yield (characters, log-probability) for each token of `text[start:]`; a token cut by `start` counts in
        proportion."""
        at = 0
        for width, log_p in self.confidence:
            left = min(width, at + width - start)
            if width and left > 0:
                yield int(left), log_p * left / width
            at += int(width)

    def _closers(self, after: str) -> str | None:
        """The closing brackets or quotes auto-inserted after the cursor; None if the text there changed in any other
        way."""
        closers = after[: max(0, len(after) - self.after_length)]
        same = len(after) == self.after_length + len(closers) and after.startswith(self.after, len(closers))
        return closers if same and (closes_alone(closers) or closes_below(closers)) else None


class CompletionCache:
    """The newest MAX_CACHED_COMPLETIONS completions of one document."""

    def __init__(self) -> None:
        self._completions: deque[CachedCompletion] = deque(maxlen=MAX_CACHED_COMPLETIONS)

    def add(self, completion: CachedCompletion) -> None:
        self._completions.append(completion)

    def remove(self, completion: CachedCompletion) -> None:
        """Remove a completion that will not be finished; no effect if it is not in the cache."""
        if completion in self._completions:
            self._completions.remove(completion)

    def find(self, before: str, after: str) -> tuple[CachedCompletion, Remainder] | None:
        """The newest completion with text left at the cursor, else one that ends exactly there; None on a cache
        miss."""
        ended = None
        for completion in reversed(self._completions):
            remainder = completion.remainder(before, after)
            if remainder and remainder.text.strip():
                return completion, remainder
            ended = ended or ((completion, remainder) if remainder else None)
        return ended


def before_closers(text: str, line_before: str, closers: str) -> str:
    """`text` cut before the auto-inserted `closers`: its first line only, unless they are on a line below."""
    if not closers:
        return text
    if closers[0] in "\r\n":
        closer = closers.strip()[:1]
        return (text[: unmatched(text, closer)] if closer else text).rstrip()
    return cut_rest_of_line(text.split("\n", 1)[0], line_before, closers)
