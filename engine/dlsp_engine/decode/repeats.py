"""Where the last tokens stand in the text before: what followed them there may follow again."""

from collections.abc import Iterator, Sequence

import numpy as np


def followers(text: np.ndarray, last: Sequence[int]) -> Iterator[np.ndarray]:
    """For the last token, the last two, …: the places in `text` [n] of tokens that follow just these, as long as there
    are any.
    """
    at = np.arange(1, len(text))
    for back, token in enumerate(reversed(last), 1):
        at = at[at >= back]
        at = at[text[at - back] == token]
        if not len(at):
            return
        yield at
