"""Constraints: which tokens an answer may have. Every decoding mode asks the same interface."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import Tokenizer


class Requirement(Protocol):
    """What a request requires of its answers, compiled. Any number of answers may be in progress."""

    # Whether it says what the whole answer is, and so where the answer ends.
    whole: bool

    def prepare(self, gap: Gap, standing: int) -> None:
        """Compile what `begin` needs, if it is not compiled yet. May take long, and threads may share it."""
        ...

    def begin(self, gap: Gap, standing: int, end: str = "token") -> "Constraint":
        """Return the constraint of an answer to `gap`, whose first `standing` bytes are already in the document, as
        the last ones before the cursor. `end` is where the gap ends (`Options.end`).
        """
        ...


class Constraint(Protocol):
    """Which tokens may come next in an answer. It is told the tokens of the answer by `advance`, and `rollback` takes
    them back. End tokens are tokens like others: they are allowed where the answer may end.
    """

    @property
    def known(self) -> bool:
        """Whether a part of it is a fact about the text, and not a demand: see `given`."""
        ...

    @property
    def free(self) -> bool:
        """Whether all tokens are allowed from here on."""
        ...

    @property
    def complete(self) -> bool:
        """Whether only the end is allowed."""
        ...

    def allowed(self) -> np.ndarray | None:
        """Return which tokens are allowed, bool [n]; ids from n on are not. None if all are."""
        ...

    def given(self) -> np.ndarray | None:
        """As `allowed`, by what is a fact about the text alone: probabilities are relative to these tokens."""
        ...

    def advance(self, token: int) -> None:
        """Process one more token, which is allowed and no end token."""
        ...

    def rollback(self, count: int) -> None:
        """Take back the last `count` tokens."""
        ...

    def valid(self, tokens: Sequence[int]) -> int:
        """Return how many of `tokens`, counted from the first, could come next. An end token can only be the last."""
        ...

    def forced(self) -> list[int]:
        """Return tokens that have to come next, as far as that is known without search."""
        ...


class Healing:
    """Token healing: the answer must begin with bytes that the document already has. The token that completes them may
    go on beyond them.
    """

    known = True

    def __init__(self, bytes_: bytes, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._left = [bytes_]  # what is missing at first, and after each token
        self._masks: dict[bytes, np.ndarray] = {}  # what is missing -> which tokens are allowed

    @property
    def free(self) -> bool:
        return not self._left[-1]

    @property
    def complete(self) -> bool:
        return False

    def allowed(self) -> np.ndarray | None:
        left, masks = self._left[-1], self._masks
        if left and left not in masks:
            masks[left] = np.zeros(self._tokenizer.words, bool)
            masks[left][self._tokenizer.completions(left).numpy()] = True
        return masks.get(left)

    def given(self) -> np.ndarray | None:
        return self.allowed()

    def advance(self, token: int) -> None:
        self._left.append(self._after(self._left[-1], token))

    def rollback(self, count: int) -> None:
        del self._left[len(self._left) - count :]

    def valid(self, tokens: Sequence[int]) -> int:
        left = self._left[-1]
        for at, token in enumerate(tokens):
            if not left:
                break
            word = self._tokenizer.token_bytes(token)
            if not word or not (left.startswith(word) or word.startswith(left)):
                return at
            left = self._after(left, token)
        return len(tokens)

    def forced(self) -> list[int]:
        return []

    def _after(self, left: bytes, token: int) -> bytes:
        word = self._tokenizer.token_bytes(token)
        return left[len(word) :] if left.startswith(word) else b""
