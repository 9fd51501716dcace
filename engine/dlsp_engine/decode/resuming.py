"""The drafter for a text that changes in a few places: it goes on as the text does."""

from collections.abc import Sequence

from dlsp_engine.decode.draft import Guess
from dlsp_engine.decode.verified import Drafter

LONGEST = 3
"""Tokens that must agree for a place of the text to be gone on from; fewer do where they stand there once."""


RESUMED = 0.9
"""The confidence in a token of a text that is changed in a few places."""


def resume(texts: Sequence[list[int]], otherwise: Drafter) -> Drafter:
    """A drafter that finds the last known tokens in one of `texts`; `otherwise` where they are in none."""

    def draft(tokens: list[int]) -> Guess:
        for length in range(LONGEST, 0, -1):
            last = tokens[-length:]
            for text in texts:
                found = [end for end in range(length, len(text)) if text[end - length : end] == last]
                if len(found) == 1 or (found and length == LONGEST):
                    rest = text[found[-1] :]
                    return rest, [RESUMED] * len(rest)
        return otherwise(tokens)

    return draft
