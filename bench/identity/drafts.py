"""Drafters of every kind: the product's own, and ones that do their worst."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dlsp_engine.decode.draft import Drafter, Proposal

LENGTH = 2


@dataclass(frozen=True)
class Draft:
    """How a fill is drafted. `make` gets the answer to be, the length of the prompt and the vocabulary's size."""

    make: Callable[[Sequence[int], int, int], Drafter] | None
    canvas: bool = True
    copy: bool = False
    corrupted: bool = False


def _empty(answer: Sequence[int], start: int, vocab: int) -> Drafter:
    return lambda tokens: ([], [])


def _random(answer: Sequence[int], start: int, vocab: int) -> Drafter:
    rng = random.Random(start)
    return lambda tokens: _sure([rng.randrange(vocab) for _ in range(rng.randrange(LENGTH + 1))])


def _adversarial(answer: Sequence[int], start: int, vocab: int) -> Drafter:
    """The answer itself, spoiled: a wrong last token, a shift by one, an early end token, a repetition."""
    rng = random.Random(start)

    def draft(tokens: list[int]) -> list[int]:
        right = list(answer[len(tokens) - start :][:LENGTH])
        spoil = rng.randrange(4)
        if spoil == 0:
            return [*right[:-1], rng.randrange(vocab)]
        if spoil == 1:
            return list(answer[len(tokens) - start + 1 :][:LENGTH])
        if spoil == 2:
            return [*right[: rng.randrange(LENGTH)], 151643 % vocab]
        return right[:1] * LENGTH

    return lambda tokens: _sure(draft(tokens))


def _sure(tokens: list[int]) -> Proposal:
    """So sure that they are verified."""
    return tokens, [0.8] * len(tokens)


# `corrupted` drafts by an adapter of random numbers; with `canvas` a canvas fills in where a drafter has no idea.
DRAFTS = {
    "real": Draft(None, copy=True),
    "canvas": Draft(None),
    "corrupted": Draft(None, corrupted=True),
    "empty": Draft(_empty, canvas=False),
    "random": Draft(_random, canvas=False),
    "adversarial": Draft(_adversarial),
}
