"""Several constraints on one answer, which must keep to all of them."""

from collections.abc import Sequence

import numpy as np

from dlsp_engine.decode.constraint import Constraint, Requirement
from dlsp_engine.text.prompt import Gap
from dlsp_engine.text.tokenizer import Tokenizer


class Requirements:
    """Several requirements of the answers to a request. The whole answer is described if one of them does so."""

    def __init__(self, parts: Sequence[Requirement], tokenizer: Tokenizer) -> None:
        self.parts = parts
        self.whole = any(part.whole for part in parts)
        self._tokenizer = tokenizer

    def prepare(self, gap: Gap, standing: int) -> None:
        for part in self.parts:
            part.prepare(gap, standing)

    def begin(self, gap: Gap, standing: int, end: str = "token") -> "All":
        return All([part.begin(gap, standing, end) for part in self.parts], self._tokenizer)


class All:
    """The constraint that all of `parts` make together: a token is allowed if each of them allows it. They may
    contradict each other; then nothing is allowed, which is not always known before it is so.
    """

    def __init__(self, parts: Sequence[Constraint], tokenizer: Tokenizer) -> None:
        self._parts = parts
        self._stops = np.array(sorted(tokenizer.stops - tokenizer.spelled.keys()), int)

    @property
    def known(self) -> bool:
        return any(part.known and not part.free for part in self._parts)

    @property
    def free(self) -> bool:
        return all(part.free for part in self._parts)

    @property
    def complete(self) -> bool:
        """Whether one of them allows the end alone, and the others allow it, too."""
        if not any(part.complete for part in self._parts):
            return False
        return not len(self._stops) or self.valid([int(self._stops[0])]) == 1

    def allowed(self) -> np.ndarray | None:
        masks = [self._ends() if part.complete else part.allowed() for part in self._parts if not part.free]
        return _common(masks)

    def given(self) -> np.ndarray | None:
        return _common([part.given() for part in self._parts if part.known])

    def advance(self, token: int) -> None:
        for part in self._parts:
            part.advance(token)

    def rollback(self, count: int) -> None:
        if count:
            for part in self._parts:
                part.rollback(count)

    def valid(self, tokens: Sequence[int]) -> int:
        count = len(tokens)
        for part in self._parts:
            count = part.valid(tokens[:count])
        return count

    def forced(self) -> list[int]:
        return max((part.forced() for part in self._parts), key=len, default=[])

    def _ends(self) -> np.ndarray:
        """Return the mask of the end tokens."""
        mask = np.zeros(1 + max(self._stops, default=-1), bool)
        mask[self._stops] = True
        return mask


def _common(masks: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """Return the tokens that all masks allow; None if all tokens."""
    found = None
    for mask in masks:
        if found is None or mask is None:
            found = mask if found is None else found
        else:
            size = min(len(found), len(mask))
            found = found[:size] & mask[:size]
    return found
