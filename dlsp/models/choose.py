"""The size of model for this machine: the largest that is here, answers a line and reads a new place in good time."""

from dataclasses import dataclass

from dlsp.context.budget import in_time
from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find
from dlsp.models.speed import speed, speeds

AUTO = "auto"

LINE_MS, PLACE_S = 300.0, 1.0
"""At most so long for a single-line gap whose prompt is cached, and for reading the prompt of a new place."""


@dataclass(frozen=True)
class Choice:
    model: Model
    why: str


def choose() -> Choice:
    """By what the engine measured of a step here; the smallest model until it has measured anything."""
    known = speeds()
    here = [model for model in CATALOGUE if store.place(model).is_file()] or [DEFAULT]
    smallest = min(here, key=lambda model: model.size)
    if not known:
        return Choice(smallest, f"{smallest.name} until a step has been measured on this machine")
    told = []
    for model in sorted(CATALOGUE, key=lambda model: -model.size):
        its, how = speed(model, known)
        line_ms, place_s = model.steps * its.step, its.reads(in_time(its))
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
