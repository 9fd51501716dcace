"""The size of model for this machine: the largest that is here and answers a single-line gap within the budget."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find

AUTO = "auto"

BUDGET_MS = 300

WIDTH = 4
"""Rows of a step of a gap; half of the steps have a canvas."""


@dataclass(frozen=True)
class Choice:
    model: Model
    why: str


def choose(budget_ms: float = BUDGET_MS) -> Choice:
    """By what the engine measured of a step here; the smallest model until it has measured anything."""
    costs = _costs(store.folder() / "costs.json")
    here = [model for model in CATALOGUE if store.place(model).is_file()] or [DEFAULT]
    smallest = min(here, key=lambda model: model.size)
    if not costs:
        return Choice(smallest, f"{smallest.name} until a step has been measured on this machine")
    told = []
    for model in sorted(CATALOGUE, key=lambda model: -model.size):
        expected, how = _gap_ms(model, costs)
        if model in here and (expected <= budget_ms or model == smallest):
            told.append(f"{model.name} takes {expected:.0f} ms a line ({how})")
            return Choice(model, f"{'; '.join(told)}; the budget is {budget_ms:.0f} ms")
        would = f"{model.name} would take {expected:.0f} ms a line ({how})"
        pull = f": `dlsp model pull {model.name}` brings it" if model not in here and expected <= budget_ms else ""
        told.append(would + pull)
    raise AssertionError("one model is always here")


def named(name: str) -> Model:
    """The model of that name, or the one for this machine for `auto`; UserError for any other name."""
    return choose().model if name == AUTO else find(name)


def _gap_ms(model: Model, costs: dict[str, float]) -> tuple[float, str]:
    """Milliseconds of a warm single-line gap, and whether they are measured or follow from a model that was."""
    if (measured := costs.get(model.file)) is not None:
        return model.steps * measured, "measured"
    file, step = next(iter(costs.items()))
    known = next(other for other in CATALOGUE if other.file == file)
    # A step takes as long as its weights take to read.
    return model.steps * step * model.size / known.size, f"from {known.name}"


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
