"""A place in a file that the model has read: the prompt's tokens and their key/value rows."""

from collections.abc import Sequence

from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows

PREFILL_ROWS = 128  # of a step at most, so that a newer request never waits long
COMPARED_AT_ONCE = 64  # tokens
MIN_COPIED_ROWS = 16  # rows that copying from another session must save to be worth it


class Session:
    """All tokens of a prompt and its answer so far; the cache holds the rows of the first `cache.length` of them.

    `previous_answer` is what followed the prompt in the answer before: it will be the same again, as long as typing
    agrees with it. Between steps at least the last token is not cached: its row gives the next one.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.tokens: list[int] = []
        self.previous_answer: list[int] = []

    def set_aside(self, tokens: list[int]) -> "Session | None":
        """Before `advance` to another place: a session that takes over the cache, while this one keeps a copy of the
        prefix that both share. None where `advance` drops less than it keeps.
        """
        same = common(self.tokens[: self.cache.length], tokens)
        if self.cache.length - same < max(same, PREFILL_ROWS):
            return None
        old = Session(self.cache)
        old.tokens = self.tokens
        self.cache = old.cache.fork(same)
        return old

    def advance(self, tokens: list[int], answer: int = 0) -> int:
        """Go on with `tokens` as the prompt, which at most `answer` tokens will follow; returns how many are cached.

        Rows are kept up to the first token that differs, so typing costs only its own tokens.
        """
        self.cache.expected = len(tokens) + answer
        same = self.cache.length = common(self.tokens[: self.cache.length], tokens[:-1])
        self.previous_answer = self.tokens[len(tokens) :] if self.tokens[: len(tokens)] == tokens else []
        self.tokens = list(tokens)
        return same

    @property
    def pending(self) -> list[int]:
        """The tokens that are not cached; the last token is always one of them."""
        return self.tokens[self.cache.length :]

    def shares(self, other: "Session") -> int:
        """How many first tokens this one and `other` will both have cached once they are prefilled."""
        return common(self.tokens[:-1], other.tokens[:-1])

    def borrow(self, other: "Session", most: int) -> int:
        """Copy what `other` has cached of the first `most` tokens, where that saves enough; returns the rows saved."""
        had = self.cache.length
        same = min(other.cache.length, self.shares(other), most)
        if same < had + MIN_COPIED_ROWS:
            return 0
        expected = self.cache.expected
        self.cache = other.cache.fork(same)
        self.cache.expected = expected
        return same - had

    def prefill(self, room: int = PREFILL_ROWS, end: int = -1) -> Rows | None:
        """The next rows of `tokens[:end]`, at most `room`; None when all of it is cached."""
        uncached = self.tokens[:end][self.cache.length :]
        if not uncached:
            return None
        rows = Rows()
        rows.add_clean(uncached[: min(room, PREFILL_ROWS)], self.cache.length)
        return rows

    def extend(self, tokens: list[int], cached: int) -> None:
        """Append `tokens`, and keep the first `cached` rows of the last step: they are those of the next tokens."""
        self.tokens += tokens
        self.cache.length = min(self.cache.length + cached, len(self.tokens))

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
    while at < end and one[at : at + COMPARED_AT_ONCE] == other[at : at + COMPARED_AT_ONCE]:
        at += COMPARED_AT_ONCE
    while at < end and one[at] == other[at]:
        at += 1
    return min(at, end)
