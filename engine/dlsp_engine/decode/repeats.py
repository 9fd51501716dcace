"""Where the last tokens stand in the text before: what followed them there may follow again."""

from collections.abc import Iterator, Sequence

import numpy as np


def followers(text: np.ndarray, last: Sequence[int]) -> Iterator[np.ndarray]:
    """For the last token, the last two, …: the places in `text` [n] of tokens that follow just these, as long as there
    are any.
    """
    at = np.flatnonzero(text[:-1] == last[-1]) + 1 if last else np.arange(0)
    back = 1
    while len(at):
        yield at
        back += 1
        if back > len(last):
            return
        at = at[at >= back]
        at = at[text[at - back] == last[-back]]
