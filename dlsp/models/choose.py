"""The size of model for this machine: the largest whose single-line gap is answered within the budget."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find

AUTO = "auto"

BUDGET_MS = 300

STEPS = 5.3
"""Steps of a verified single-line gap, its prompt cached (`python -m bench.quality`); half of them have a canvas."""

WIDTH = 4
"""Rows of such a step."""


@dataclass(frozen=True)
class Choice:
    model: Model
    why: str


def choose(budget_ms: float = BUDGET_MS) -> Choice:
    """By what the engine measured of a step here; the smallest model until it has measured anything."""
    costs = _costs(store.folder() / "costs.json")
    if not costs:
        return Choice(DEFAULT, f"{DEFAULT.name} until a step has been measured on this machine")
    told = []
    for model in sorted(CATALOGUE, key=lambda model: -model.size):
        expected, how = _gap_ms(model, costs)
        if expected <= budget_ms or model == min(CATALOGUE, key=lambda model: model.size):
            told.append(f"{model.name} takes {expected:.0f} ms a line ({how})")
            return Choice(model, f"{'; '.join(told)}; the budget is {budget_ms:.0f} ms")
        told.append(f"{model.name} would take {expected:.0f} ms a line ({how})")
    raise AssertionError("the catalogue has a smallest model")


def named(name: str) -> Model:
    """The model of that name, or the one for this machine for `auto`; UserError for any other name."""
    return choose().model if name == AUTO else find(name)


def _gap_ms(model: Model, costs: dict[str, float]) -> tuple[float, str]:
    """Milliseconds of a warm single-line gap, and whether they are measured or follow from a model that was."""
    if (measured := costs.get(model.file)) is not None:
        return STEPS * measured, "measured"
    file, step = next(iter(costs.items()))
    known = next(other for other in CATALOGUE if other.file == file)
    # A step takes as long as its weights take to read.
    return STEPS * step * model.size / known.size, f"from {known.name}"


def _costs(path: Path) -> dict[str, float]:
    """Model file -> milliseconds of a step of WIDTH rows in the fastest type; {} where nothing is known."""
    try:
        entries: dict[str, Any] = json.loads(path.read_text())
        found: dict[str, float] = {}
        for name, entry in entries.items():
            stem = name.split()[0]  # then the type, then the instructions
            table = entry["costs"]
            step = table["milliseconds"][table["rows"].index(WIDTH)]
            step += (table["canvas"] + (WIDTH - 1) * table["canvas_row"]) / 2
            if any(model.file == f"{stem}.gguf" for model in CATALOGUE):
                found[f"{stem}.gguf"] = min(step, found.get(f"{stem}.gguf", step))
        return found
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
