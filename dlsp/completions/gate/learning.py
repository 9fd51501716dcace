"""Per-user calibration: a logit shift per language, learned from outcomes of suggestions, kept in the state folder.

A suggestion was right if it was accepted or typed exactly; it was wrong if it was dismissed or something else was
typed. Each outcome moves the shift a little towards the observed rate, by at most MAX_SHIFT in all.
"""

import json
from collections import defaultdict
from pathlib import Path

from filelock import FileLock, Timeout

from dlsp import atomic, paths
from dlsp.errors import UserError

FILE_NAME = "manners.json"
LEARNING_RATE = 0.03
MAX_SHIFT = 1.0


class Learning:
    """Learned logit shifts; `shift(language)` is added to the logit of every probability for that language."""

    def __init__(self) -> None:
        self._shifts = _read(self._file())
        self._since: defaultdict[str, float] = defaultdict(float)

    def shift(self, language: str) -> float:
        return _bounded(self._shifts.get(language, 0.0) + self._since[language])

    def saw(self, language: str, probability: float, right: bool) -> None:
        """Record the outcome of a shown suggestion that had this probability."""
        self._since[language] += LEARNING_RATE * (right - probability)

    def save(self) -> None:
        """Merge what was learned into the file, which other servers share. May run in a thread."""
        file, since = self._file(), {name: change for name, change in self._since.items() if change}
        if file is None or not since:
            return
        try:
            with FileLock(file.with_suffix(".lock"), timeout=1):
                kept = _read(file)
                for language, change in since.items():
                    kept[language] = round(_bounded(kept.get(language, 0.0) + change), 4)
                atomic.write(file, json.dumps(kept).encode())
        except (OSError, Timeout):
            return  # kept in memory for the next save
        self._shifts = kept
        for language, change in since.items():
            self._since[language] -= change

    def _file(self) -> Path | None:
        try:
            return paths.state_dir() / FILE_NAME
        except UserError:
            return None


def _bounded(shift: float) -> float:
    return max(-MAX_SHIFT, min(MAX_SHIFT, shift))


def _read(file: Path | None) -> dict[str, float]:
    try:
        kept: dict[str, float] = json.loads(file.read_text()) if file else {}
        return {str(name): _bounded(float(shift)) for name, shift in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
