"""The header of a GGUF file, walked within bounds. The `gguf` package trusts a header's counts, keeps an object for
each element of an array, and takes seconds.
"""

import mmap
import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path

# Metadata types, by number: fixed ones with their bytes; then text and array.
FIXED_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
TEXT, ARRAY = 8, 9

# A large vocabulary of 262,144 words has 1.4 million elements: words, kinds, scores and merges.
MAX_ELEMENTS, MAX_ENTRIES, MAX_DIMENSIONS = 3_000_000, 100_000, 4

# What the functions below raise for a header that is damaged: it ends too soon, has unknown types or too large counts.
DAMAGED = (struct.error, KeyError, UnicodeDecodeError, OverflowError, ValueError)


def check(path: Path, blocks: Mapping[int, tuple[int, int]]) -> None:
    """Walk the whole header: metadata and descriptions of tensors, whose data must lie in the file. `blocks` has the
    elements and the bytes of a block, by kind of quantisation. Raises one of DAMAGED.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        walk = Walk(data)
        while walk.entry():
            pass
        walk.tensors(blocks)


def text_of(path: Path, key: str) -> str | None:
    """Return the text of one metadata entry; None if there is none. Raises one of DAMAGED."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        walk = Walk(data)
        while found := walk.entry():
            if found[0] == key.encode():
                return Walk(data, found[1]).text().decode()
    return None


class Walk:
    """A place in the header of a file that is mapped into memory."""

    def __init__(self, data: mmap.mmap, at: int = 24) -> None:
        """`at`: by default behind magic, version and the two counts."""
        if data[:4] != b"GGUF":
            raise struct.error("it does not begin as a GGUF file")
        self._data, self._at, self._elements = data, at, 0
        self._tensors, self._entries = struct.unpack_from("<QQ", data, 8)
        if max(self._tensors, self._entries) > MAX_ENTRIES:
            raise struct.error(f"{self._tensors} tensors and {self._entries} entries of metadata")

    def entry(self) -> tuple[bytes, int] | None:
        """Pass one metadata entry. Returns its key and where its value begins; None behind the last."""
        if not self._entries:
            return None
        self._entries -= 1
        key, kind, value = self.text(), self._number("<I"), self._at
        if kind == ARRAY:
            self._array()
        elif kind == TEXT:
            self.text()
        else:
            self._skip(FIXED_BYTES[kind])
        return key, value

    def tensors(self, blocks: Mapping[int, tuple[int, int]]) -> None:
        """Pass the descriptions of all tensors, behind the metadata. Their data begins behind these."""
        length = 0
        for _ in range(self._tensors):
            self.text()
            if (dimensions := self._number("<I")) > MAX_DIMENSIONS:
                raise struct.error(f"a tensor of {dimensions} dimensions")
            elements = prod(self._number("<Q") for _ in range(dimensions))
            kind, offset = self._number("<I"), self._number("<Q")
            of_block, block_bytes = blocks.get(kind, (1, 0))  # the reader refuses an unknown kind
            length = max(length, offset + elements // of_block * block_bytes)
        if (wanted := self._at + length) > len(self._data):
            raise struct.error(f"it ends after {len(self._data):,} of {wanted:,} bytes")

    def text(self) -> bytes:
        begin = self._at + 8
        self._skip(self._number("<Q"))
        return self._data[begin : self._at]

    def _array(self) -> None:
        kind, count = self._number("<I"), self._number("<Q")
        self._elements += count
        if self._elements > MAX_ELEMENTS:
            raise struct.error(f"{self._elements} elements of arrays")
        if kind != TEXT:
            self._skip(FIXED_BYTES[kind] * count)
            return
        for _ in range(count):
            self.text()

    def _number(self, form: str) -> int:
        (number,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return number

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise struct.error("it ends too soon")
