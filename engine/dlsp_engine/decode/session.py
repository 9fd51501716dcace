"""A session: the tokens of a prompt and its answer, with their KV cache."""

from collections.abc import Sequence

from dlsp_engine.model.cache import Cache
from dlsp_engine.model.convention import CAUSAL_CONVENTION, Convention
from dlsp_engine.model.rows import Rows

PREFILL_ROWS = 128  # of a prompt in a step, where nothing else is said
COMPARED_AT_ONCE = 64  # tokens
MIN_COPIED_ROWS = 16  # rows that copying from another session must save to be worth it


class Session:
    """All tokens of a prompt and its answer so far. The KV cache holds the rows of the first `cache.length` of them.

    `previous_answer` holds the tokens that followed this same prompt in the previous answer, if any: while the user
    types what that answer said, the new answer will be the rest of it again. Between steps at least the last token is
    not cached, since its row gives the logits of the next token.

    `convention` is the checkpoint's. Only rows that no later token changes are cached: any of a causal model, whole
    blocks of a block model, and none of a model that sees the whole text.
    """

    def __init__(self, cache: Cache, convention: Convention = CAUSAL_CONVENTION) -> None:
        self.cache = cache
        self.convention = convention
        self.tokens: list[int] = []
        self.previous_answer: list[int] = []

    def set_aside(self, tokens: list[int], edits: bool = False) -> "Session | None":
        """Called before `advance` with these arguments moves to another place. Returns a session that takes over the KV
        cache, while this one keeps a copy of the prefix that it shares with `tokens`. Returns None if `advance` would
        drop less than it keeps, or less than PREFILL_ROWS.
        """
        same = self._cacheable(self.tokens[: self.cache.length], tokens) if self.cache.edits == edits else 0
        if self.cache.length - same < max(same, PREFILL_ROWS):
            return None
        old = Session(self.cache, self.convention)
        old.tokens = self.tokens
        self.cache = old.cache.fork(same)
        return old

    def advance(self, tokens: list[int], answer: int = 0, edits: bool = False) -> int:
        """Make `tokens` the prompt, which at most `answer` tokens will follow; `edits` says whether its rows see the
        edit update. Returns how many of its tokens are cached.

        Cached rows are kept up to the first token that differs, so typing costs only the rows of the new tokens.
        """
        self.cache.expected = len(tokens) + answer
        if self.cache.edits != edits:
            self.cache.edits, self.cache.length, self.tokens = edits, 0, []
        same = self.cache.length = self._cacheable(self.tokens[: self.cache.length], tokens[:-1])
        self.previous_answer = self.tokens[len(tokens) :] if self.tokens[: len(tokens)] == tokens else []
        self.tokens = list(tokens)
        return same

    @property
    def pending(self) -> list[int]:
        """The tokens that are not cached yet; the last token is always one of them."""
        return self.tokens[self.cache.length :]

    def shares(self, other: "Session") -> int:
        """Return the length of the prefix that this session and `other` will both have cached after prefill. Sessions
        that see different updates share none.
        """
        alike = self.cache.published == other.cache.published and self.cache.edits == other.cache.edits
        return self._cacheable(self.tokens[:-1], other.tokens[:-1]) if alike else 0

    def borrow(self, other: "Session", most: int) -> int:
        """Copy the rows that `other` has cached of the first `most` tokens, if that saves MIN_COPIED_ROWS or more.
        Returns the number of rows saved.
        """
        had = self.cache.length
        same = self.convention.cacheable(min(other.cache.length, self.shares(other), most))
        if same < had + MIN_COPIED_ROWS:
            return 0
        expected = self.cache.expected
        self.cache = other.cache.fork(same)
        self.cache.expected = expected
        return same - had

    def prefill(self, room: int = PREFILL_ROWS, end: int = -1) -> Rows | None:
        """Return the next uncached rows of `tokens[:end]`, at most `room`, but at least one block of a block model;
        None if all that can be cached is.
        """
        start, block = self.cache.length, self.convention.block
        uncached = self.tokens[start : self.convention.cacheable(len(self.tokens[:end]))]
        if not uncached:
            return None
        rows = Rows()
        if not block:
            rows.add_clean(uncached[:room], start)
            return rows
        for at in range(0, max(block, min(len(uncached), room // block * block)), block):
            rows.add_block(uncached[at : at + block], start + at)
        return rows

    def extend(self, tokens: list[int], cached: int) -> None:
        """Append `tokens`, and keep the first `cached` rows of the last step in the KV cache: they are the rows of the
        next tokens.
        """
        self.tokens += tokens
        self.cache.length = min(self.cache.length + cached, len(self.tokens))

    def copy(self) -> "Session":
        """Return an independent session with the same tokens and a copy of the KV cache."""
        twin = Session(self.cache.fork(self.cache.length), self.convention)
        twin.tokens = list(self.tokens)
        return twin

    def fork(self, tokens: list[int]) -> "Session":
        """Return another session with the rows that are cached here of `tokens`."""
        same = self._cacheable(self.tokens[: self.cache.length], tokens)
        twin = Session(self.cache.fork(same), self.convention)
        twin.tokens = tokens[:same]
        return twin

    def _cacheable(self, one: Sequence[int], other: Sequence[int]) -> int:
        """The length of the longest common prefix whose rows can be cached."""
        return self.convention.cacheable(common(one, other))


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the longest common prefix."""
    end, at = min(len(one), len(other)), 0
    while at < end and one[at : at + COMPARED_AT_ONCE] == other[at : at + COMPARED_AT_ONCE]:
        at += COMPARED_AT_ONCE
    while at < end and one[at] == other[at]:
        at += 1
    return min(at, end)
