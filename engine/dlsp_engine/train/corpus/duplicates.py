"""Finds near duplicates by MinHash signatures in bands. Exact duplicates have equal signatures."""

import numpy as np

from .words import Hashes, grams

_SHINGLE = 5
_BANDS, _ROWS = 16, 4
_SIMILAR = 0.7


class Duplicates:
    """The signatures of all files so far. Two files with a Jaccard similarity of about 0.7 or more are near
    duplicates.
    """

    def __init__(self) -> None:
        random = np.random.default_rng(20)
        size = (_BANDS * _ROWS, 1)
        self._factors = random.integers(1 << 63, size=size, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        self._offsets = random.integers(1 << 63, size=size, dtype=np.uint64)
        self._signatures: list[Hashes] = []
        self._bands: dict[bytes, int] = {}

    def seen(self, words: Hashes) -> bool:
        """Return whether a near duplicate was added before; if not, add the file."""
        signature = self._signature(words)
        keys = [bytes([band]) + row.tobytes() for band, row in enumerate(signature.reshape(_BANDS, _ROWS))]
        candidates = {self._bands[key] for key in keys if key in self._bands}
        if any(np.mean(self._signatures[index] == signature) >= _SIMILAR for index in candidates):
            return True
        for key in keys:
            self._bands.setdefault(key, len(self._signatures))
        self._signatures.append(signature)
        return False

    def _signature(self, words: Hashes) -> np.ndarray:
        shingles = np.unique(grams(words, min(_SHINGLE, len(words))))
        mixed = shingles * self._factors + self._offsets
        return (mixed.min(axis=1, initial=np.iinfo(np.uint64).max) >> np.uint64(32)).astype(np.uint32)
