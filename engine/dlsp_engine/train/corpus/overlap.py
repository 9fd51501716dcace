"""Finds files that share code with the evaluation sets: they must not be trained on."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dlsp_engine.errors import EngineError

from .words import Hashes, grams, words

GRAM = 10


class Overlap:
    """All runs of ten words in the evaluation sets of a folder."""

    def __init__(self, folder: Path) -> None:
        """Read `**/*.jsonl.gz` except sets meant for training (`train` in the name). Raises EngineError if there is
        none.
        """
        paths = [path for path in sorted(folder.rglob("*.jsonl.gz")) if "train" not in path.name]
        if not paths:
            raise EngineError(f"{folder} has no evaluation sets (*.jsonl.gz): set DLSP_EVAL_DIR to their folder.")
        runs = [grams(words(text), GRAM) for path in paths for text in _texts(path)]
        self._grams = np.unique(np.concatenate(runs))

    def shared(self, hashes: Hashes) -> int:
        """Return how many runs of ten words of a file occur in the evaluation sets."""
        found = grams(hashes, GRAM)
        nearest = np.searchsorted(self._grams, found).clip(max=len(self._grams) - 1)
        return int((self._grams[nearest] == found).sum())


def _texts(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from _code(json.loads(line))


def _code(row: dict[str, Any]) -> Iterator[str]:
    """Yield the whole programs in a row of an evaluation set: the text before and after an edit, or a gap filled in
    between its prefix and suffix; and the tests.
    """
    if "window_before" in row:
        yield row["window_before"]
        yield row["window_after"]
    elif "eval_prompt" in row:
        yield row["eval_prompt"].replace("{{completion}}", row["ground_truth"])
    elif "canonical" in row:
        yield row["prefix"] + row["canonical"] + row["suffix"]
        yield row.get("test", "")
    else:
        yield row["prompt"] + row["canonical_solution"] + row.get("suffix", "")
        yield row.get("test", "")
