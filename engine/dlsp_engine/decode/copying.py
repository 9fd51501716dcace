"""The free drafter: text that repeats (prompt look-up, arXiv 2304.04487)."""

NGRAM = 3
LONGEST = 8


class Copier:
    """Proposes what followed the last occurrence of the last NGRAM tokens, from prompt, suffix or answer."""

    def __init__(self, stops: frozenset[int]) -> None:
        self._stops = stops
        self._seen: dict[tuple[int, ...], int] = {}
        self._read = 0

    def __call__(self, tokens: list[int]) -> list[int]:
        """`tokens` grows from call to call."""
        for end in range(max(self._read, NGRAM), len(tokens)):
            self._seen[tuple(tokens[end - NGRAM : end])] = end
        self._read = len(tokens)
        at = self._seen.get(tuple(tokens[-NGRAM:]))
        if at is None:
            return []
        copied = tokens[at : at + LONGEST]
        stop = next((i for i, token in enumerate(copied) if token in self._stops), len(copied))
        return copied[:stop]
