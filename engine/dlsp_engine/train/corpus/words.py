"""Turns code into a sequence of hashed words, by which near duplicates and overlap are found."""

import re
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"^[ \t]*(#|//|/?\*).*$", re.MULTILINE)
_BASE = np.uint64(0x9E3779B97F4A7C15)


@lru_cache(maxsize=1 << 20)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def code(text: str) -> str:
    """Return a text without its comment lines, such as licences."""
    return _COMMENT.sub("", text)


def words(text: str) -> Hashes:
    """Return the hashes of the code's identifiers, keywords and numbers, in order. Punctuation is left out."""
    return np.fromiter(map(_hash, _WORD.findall(code(text))), np.uint64)


def grams(hashes: Hashes, length: int) -> Hashes:
    """Return one hash for each run of `length` words; none if there are fewer words."""
    count = max(len(hashes) - length + 1, 0)
    result = np.zeros(count, np.uint64)
    for offset in range(length):
        result = result * _BASE + hashes[offset : offset + count]
    return result
