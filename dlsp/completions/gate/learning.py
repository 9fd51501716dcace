"""Calibration for this user: in logits, by language, shifted by what became of suggestions. Kept in the state folder.

A suggestion that was accepted, or typed by hand as it stood, was right; one that was dismissed or typed otherwise was
not. Each moves the shift a little towards what was seen, never farther than MOST.
"""

import json
from collections import defaultdict
from pathlib import Path

from filelock import FileLock, Timeout

from dlsp import atomic, paths
from dlsp.errors import UserError

NAME = "manners.json"
RATE = 0.03
MOST = 1.0


class Learning:
    """`shift(language)` is added to the logit of every probability there."""

    def __init__(self) -> None:
        self._shifts = _read(self._file())
        self._since: defaultdict[str, float] = defaultdict(float)

    def shift(self, language: str) -> float:
        return _bounded(self._shifts.get(language, 0.0) + self._since[language])

    def saw(self, language: str, probability: float, right: bool) -> None:
        """A suggestion of that probability was shown, and was right or not."""
        self._since[language] += RATE * (right - probability)

    def save(self) -> None:
        """Add what was learned to the file, in which other servers keep theirs too. It may run in a thread."""
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
            return  # kept for the next time
        self._shifts = kept
        for language, change in since.items():
            self._since[language] -= change

    def _file(self) -> Path | None:
        try:
            return paths.state_dir() / NAME
        except UserError:
            return None


def _bounded(shift: float) -> float:
    return max(-MOST, min(MOST, shift))


def _read(file: Path | None) -> dict[str, float]:
    try:
        kept = json.loads(file.read_text()) if file else {}
        return {str(name): _bounded(float(shift)) for name, shift in kept.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
