"""Files that share code with the evaluation sets, which must not be trained on."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .package import CorpusError
from .words import Hashes, grams, words

GRAM = 10


class Overlap:
    """Knows every run of ten words of the evaluation sets in a folder."""

    def __init__(self, folder: Path) -> None:
        """Reads `**/*.jsonl.gz`, sets meant for training (`train` in the name) left out."""
        paths = [path for path in sorted(folder.rglob("*.jsonl.gz")) if "train" not in path.name]
        if not paths:
            raise CorpusError(f"{folder} has no evaluation sets (*.jsonl.gz): set DLSP_EVAL_DIR to their folder.")
        runs = [grams(words(text), GRAM) for path in paths for text in _texts(path)]
        self._grams = np.unique(np.concatenate(runs))

    def shared(self, hashes: Hashes) -> int:
        """How many runs of ten words of a file occur in the evaluation sets."""
        found = grams(hashes, GRAM)
        nearest = np.searchsorted(self._grams, found).clip(max=len(self._grams) - 1)
        return int((self._grams[nearest] == found).sum())


def _texts(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from _code(json.loads(line))


def _code(row: dict[str, Any]) -> Iterator[str]:
    """The whole programs of a row: an edit's window before and after, or a gap between its sides, and its tests."""
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
