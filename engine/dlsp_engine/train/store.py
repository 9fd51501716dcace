"""Samples on disk: token rows of one length in small xz files, and an index."""

import io
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dlsp_engine.errors import EngineError

# Tokens of a file: 8 to 12 MB packed, always below 16 MiB at the size of real vocabularies.
SHARD_TOKENS = 8 << 20

INDEX = "samples.json"


def write(path: Path, tokens: np.ndarray, marks: np.ndarray) -> None:
    """Write tokens [rows, length] below 2**24 and marks [rows, length] below 256."""
    buffer = io.BytesIO()
    # Separate planes of low and high bits compress far better than whole numbers.
    np.savez(buffer, low=(tokens & 0xFFFF).astype(np.uint16), high=(tokens >> 16).astype(np.uint8), marks=marks)
    replace(path, lzma.compress(buffer.getvalue(), preset=4))


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens (int32) and marks (uint8) that were given to `write`."""
    with lzma.open(path) as file:
        planes = np.load(io.BytesIO(file.read()))
    return planes["low"].astype(np.int32) | planes["high"].astype(np.int32) << 16, planes["marks"]


def replace(path: Path, data: bytes) -> None:
    """Write a file atomically."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(data)
    partial.replace(path)


def index(folder: Path) -> dict[str, Any]:
    """Return the index: `recipe`, `length`, and `shards`, which maps split -> file -> rows. Raises EngineError if there
    is none.
    """
    try:
        return json.loads((folder / INDEX).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"There are no samples in {folder}; make them with `dlsp train samples`.") from error


class Samples:
    """The rows of a split in order; after the last one they begin again."""

    def __init__(self, folder: Path, split: str) -> None:
        self._shards = [
            (folder / name, rows) for name, rows in index(folder)["shards"][split].items() if (folder / name).exists()
        ]
        self.rows = sum(rows for _, rows in self._shards)
        if not self.rows:
            raise EngineError(f"There are no samples for '{split}' in {folder}; make them with `dlsp train samples`.")
        self._open: tuple[Path, np.ndarray, np.ndarray] | None = None

    def take(self, start: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return tokens int64 and marks uint8 [count, length] of the rows from number `start` on."""
        rows = [self._row((start + i) % self.rows) for i in range(count)]
        return np.stack([tokens for tokens, _ in rows]).astype(np.int64), np.stack([marks for _, marks in rows])

    def shards(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the tokens and marks of one file after the other."""
        for path, _ in self._shards:
            yield read(path)

    def _row(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        for path, rows in self._shards:
            if number < rows:
                if self._open is None or self._open[0] != path:
                    self._open = (path, *read(path))
                return self._open[1][number], self._open[2][number]
            number -= rows
        raise IndexError(number)
