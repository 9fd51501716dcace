"""The size of model for this machine: the largest that is here, answers a line and reads a new place in good time."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsp.context.budget import CHUNK, TOKENS
from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find

AUTO = "auto"

LINE_MS, PLACE_S = 300.0, 2.0
"""At most so long for a single-line gap whose prompt is cached, and for reading the prompt of a new place."""

WIDTH = 4
"""Rows of a step of a gap; half of the steps have a canvas."""


@dataclass(frozen=True)
class Choice:
    model: Model
    why: str


@dataclass(frozen=True)
class Speed:
    """Milliseconds of a step of WIDTH rows and of one of CHUNK."""

    step: float
    chunk: float

    def scaled(self, by: float) -> "Speed":
        """A step takes as long as its weights take to read."""
        return Speed(self.step * by, self.chunk * by)


def choose() -> Choice:
    """By what the engine measured of a step here; the smallest model until it has measured anything."""
    speeds = _speeds(store.folder() / "costs.json")
    here = [model for model in CATALOGUE if store.place(model).is_file()] or [DEFAULT]
    smallest = min(here, key=lambda model: model.size)
    if not speeds:
        return Choice(smallest, f"{smallest.name} until a step has been measured on this machine")
    told = []
    for model in sorted(CATALOGUE, key=lambda model: -model.size):
        speed, how = _speed(model, speeds)
        line_ms, place_s = model.steps * speed.step, TOKENS / CHUNK * speed.chunk / 1e3
        takes = f"{line_ms:.0f} ms a line and {place_s:.1f} s to read a new place ({how})"
        fits = line_ms <= LINE_MS and place_s <= PLACE_S
        if model in here and (fits or model == smallest):
            told.append(f"{model.name} takes {takes}")
            return Choice(model, f"{'; '.join(told)}; at most {LINE_MS:.0f} ms and {PLACE_S:.0f} s are wanted")
        pull = f": `dlsp model pull {model.name}` brings it" if model not in here and fits else ""
        told.append(f"{model.name} would take {takes}{pull}")
    raise AssertionError("one model is always here")


def named(name: str) -> Model:
    """The model of that name, or the one for this machine for `auto`; UserError for any other name."""
    return choose().model if name == AUTO else find(name)


def _speed(model: Model, speeds: dict[str, Speed]) -> tuple[Speed, str]:
    """Whether it is measured or follows from a model that was is told too."""
    if (measured := speeds.get(model.file)) is not None:
        return measured, "measured"
    file, speed = next(iter(speeds.items()))
    known = next(other for other in CATALOGUE if other.file == file)
    return speed.scaled(model.size / known.size), f"from {known.name}"


def _speeds(path: Path) -> dict[str, Speed]:
    """Model file -> the speed in the fastest type; {} where nothing is known."""
    try:
        entries: dict[str, Any] = json.loads(path.read_text())
        found: dict[str, Speed] = {}
        for name, entry in entries.items():
            file = f"{name.split()[0]}.gguf"  # then the type, then the instructions
            table = entry["costs"]
            step, chunk = (table["milliseconds"][table["rows"].index(rows)] for rows in (WIDTH, CHUNK))
            speed = Speed(step + (table["canvas"] + (WIDTH - 1) * table["canvas_row"]) / 2, chunk)
            if any(model.file == file for model in CATALOGUE):
                found[file] = min(speed, found.get(file, speed), key=lambda each: each.step)
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
