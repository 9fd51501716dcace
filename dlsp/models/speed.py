"""How fast each size is on this machine, by what the engine measured of its steps."""

import json
from dataclasses import dataclass
from typing import Any

from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, Model

WIDTH, CHUNK = 4, 128
"""Rows of a step of a gap, half of which have a canvas; rows of a step that reads the prompt."""


@dataclass(frozen=True)
class Speed:
    """Milliseconds of a step of WIDTH rows and of one of CHUNK."""

    step: float
    chunk: float

    def scaled(self, by: float) -> "Speed":
        """A step takes as long as its weights take to read."""
        return Speed(self.step * by, self.chunk * by)

    def reads(self, tokens: int) -> float:
        """Seconds for a prompt of which nothing is cached."""
        return tokens / CHUNK * self.chunk / 1e3


def speeds() -> dict[str, Speed]:
    """Model file -> the speed in the fastest type; {} where nothing is known."""
    try:
        entries: dict[str, Any] = dict(json.loads((store.folder() / "costs.json").read_text()))
    except (OSError, ValueError, TypeError):
        return {}
    found: dict[str, Speed] = {}
    for name, entry in entries.items():
        file = f"{name.partition(' ')[0]}.gguf"  # then the type, then the instructions
        if any(model.file == file for model in CATALOGUE) and (speed := _speed(entry)):
            found[file] = min(speed, found.get(file, speed), key=lambda each: each.step)
    return found


def _speed(entry: Any) -> Speed | None:
    """Of what was measured once; None if another version wrote it."""
    try:
        table = entry["costs"]
        step, chunk = (float(table["milliseconds"][table["rows"].index(rows)]) for rows in (WIDTH, CHUNK))
        return Speed(step + (table["canvas"] + (WIDTH - 1) * table["canvas_row"]) / 2, chunk)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None


def speed(model: Model, known: dict[str, Speed]) -> tuple[Speed, str]:
    """`known` are `speeds()`, of one model at least. Whether it is measured or follows from another is told too."""
    if (measured := known.get(model.file)) is not None:
        return measured, "measured"
    file, other = next(iter(known.items()))
    measured_of = next(each for each in CATALOGUE if each.file == file)
    return other.scaled(model.size / measured_of.size), f"from {measured_of.name}"
