"""A place in a file that the model has read: the prompt's tokens and their key/value rows."""

from dlsp_engine.model.cache import Cache
from dlsp_engine.model.rows import Rows

CHUNK = 128
"""Prefill rows a step, so that a newer request never waits long."""


class Session:
    """`tokens` are the known clean tokens; the cache holds the first `cache.length` of them.

    `recalled` is what followed them in the answer before: what it will be again, as long as typing agrees with it.
    Between steps at least the last known token is not cached: its row gives the next one.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.tokens: list[int] = []
        self.recalled: list[int] = []

    def advance(self, tokens: list[int]) -> int:
        """Take `tokens` as what is known now; returns how many of them were cached already.

        What was cached is kept up to the first token that differs, so typing costs only its own tokens.
        """
        same = 0
        for old, new in zip(self.tokens[: self.cache.length], tokens[:-1], strict=False):
            if old != new:
                break
            same += 1
        self.cache.length = same
        self.recalled = self.tokens[len(tokens) :] if self.tokens[: len(tokens)] == tokens else []
        self.tokens = list(tokens)
        return same

    @property
    def pending(self) -> list[int]:
        """Known tokens without a cached row, the last one included."""
        return self.tokens[self.cache.length :]

    def prefill(self) -> Rows | None:
        """The next chunk of rows before the last known token; None when that token alone is left."""
        if len(self.tokens) - self.cache.length <= 1:
            return None
        rows = Rows()
        rows.add_clean(self.tokens[self.cache.length : -1][:CHUNK], self.cache.length)
        return rows

    def extend(self, tokens: list[int], stood: int) -> None:
        """`tokens` are known now, and the first `stood` rows of the last step hold what they should."""
        self.tokens += tokens
        self.cache.length = min(self.cache.length + stood, len(self.tokens))

    def copy(self) -> "Session":
        twin = Session(self.cache.copy())
        twin.tokens = list(self.tokens)
        return twin
