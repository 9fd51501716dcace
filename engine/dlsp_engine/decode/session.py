"""A place in a file that the model has read: the prompt's tokens and their key/value rows."""

from collections.abc import Sequence

from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows

CHUNK = 128
"""Prefill rows a step, so that a newer request never waits long."""

SLICE = 64
"""Tokens that are compared at once."""

WORTH = 16
"""Rows that must be saved for copying them from another session to be worth it."""


class Session:
    """`tokens` are the known clean tokens; the cache holds the first `cache.length` of them.

    `recalled` is what followed them in the answer before: what it will be again, as long as typing agrees with it.
    Between steps at least the last known token is not cached: its row gives the next one.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.tokens: list[int] = []
        self.recalled: list[int] = []

    def leave(self, tokens: list[int]) -> "Session | None":
        """Before `advance`: if that would drop most of what is cached, because `tokens` are of another place, move the
        cache to a new session, which is returned; this one keeps a copy of the prefix that both share.
        """
        same = common(self.tokens[: self.cache.length], tokens)
        if self.cache.length - same < max(same, CHUNK):
            return None
        left = Session(self.cache)
        left.tokens = self.tokens
        self.cache = left.cache.fork(same)
        return left

    def advance(self, tokens: list[int], answer: int = 0) -> int:
        """Take `tokens` for what is known now; returns how many of them were cached already.

        What was cached is kept up to the first token that differs, so typing costs only its own tokens. At most
        `answer` tokens will follow.
        """
        self.cache.expected = len(tokens) + answer
        same = self.cache.length = common(self.tokens[: self.cache.length], tokens[:-1])
        self.recalled = self.tokens[len(tokens) :] if self.tokens[: len(tokens)] == tokens else []
        self.tokens = list(tokens)
        return same

    @property
    def pending(self) -> list[int]:
        """Known tokens without a cached row, the last one included."""
        return self.tokens[self.cache.length :]

    def shares(self, other: "Session") -> int:
        """How many first tokens this one and `other` will both have cached once they are prefilled."""
        return common(self.tokens[:-1], other.tokens[:-1])

    def borrow(self, other: "Session", most: int) -> int:
        """Copy what `other` has cached of the first `most` tokens, where that saves enough; returns the rows saved."""
        had = self.cache.length
        same = min(other.cache.length, self.shares(other), most)
        if same < had + WORTH:
            return 0
        expected = self.cache.expected
        self.cache = other.cache.fork(same)
        self.cache.expected = expected
        return same - had

    def prefill(self, room: int = CHUNK, end: int = -1) -> Rows | None:
        """The next chunk, of at most `room` rows, of `tokens[:end]`; None when all of it is cached."""
        left = self.tokens[:end][self.cache.length :]
        if not left:
            return None
        rows = Rows()
        rows.add_clean(left[: min(room, CHUNK)], self.cache.length)
        return rows

    def extend(self, tokens: list[int], stood: int) -> None:
        """`tokens` are known now, and the first `stood` rows of the last step hold what they should."""
        self.tokens += tokens
        self.cache.length = min(self.cache.length + stood, len(self.tokens))

    def copy(self) -> "Session":
        twin = Session(self.cache.fork(self.cache.length))
        twin.tokens = list(self.tokens)
        return twin

    def fork(self, tokens: list[int]) -> "Session":
        """Another session with what is cached here of `tokens`."""
        same = common(self.tokens[: self.cache.length], tokens)
        twin = Session(self.cache.fork(same))
        twin.tokens = tokens[:same]
        return twin


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many first elements are equal."""
    end, at = min(len(one), len(other)), 0
    while at < end and one[at : at + SLICE] == other[at : at + SLICE]:
        at += SLICE
    while at < end and one[at] == other[at]:
        at += 1
    return min(at, end)
