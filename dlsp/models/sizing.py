"""Which size of model, and how much context, this machine carries: by what the engine measured of its steps here."""

import json
from dataclasses import dataclass
from typing import Any

from dlsp.models import store
from dlsp.models.catalogue import CATALOGUE, DEFAULT, Model, find
from dlsp.paths import cache_dir

AUTO = "auto"

# Rows of a step of a gap, half of which have a canvas, and of a step that reads the prompt.
GAP_STEP_ROWS, PROMPT_STEP_ROWS = 4, 128

# The context budgets that `auto` chooses from. A new place is read in MAX_READ_S if the smallest of them allows it: a
# suggestion that comes later is too late (bench/replay/NOTES.md).
CONTEXT_TOKENS = (4096, 2048, 1024, 512)
MAX_READ_S = 0.8

# What `auto` wants of a size: the time of a single-line gap whose prompt is cached, and of reading a new place.
MAX_LINE_MS, MAX_PLACE_S = 300.0, 1.0


@dataclass(frozen=True)
class Speed:
    """Milliseconds of a step of GAP_STEP_ROWS and of one of PROMPT_STEP_ROWS."""

    step: float
    chunk: float

    def scaled(self, by: float) -> "Speed":
        """The speed of a model whose file is `by` times as large: a step takes as long as reading the weights."""
        return Speed(self.step * by, self.chunk * by)

    def reads(self, tokens: int) -> float:
        """Seconds for a prompt of which nothing is cached."""
        return tokens / PROMPT_STEP_ROWS * self.chunk / 1e3


@dataclass(frozen=True)
class Choice:
    """The model that `auto` takes, and why, as a sentence."""

    model: Model
    why: str


def choose() -> Choice:
    """The largest model that is here and fast enough; the smallest until the engine has measured any."""
    known = speeds()
    here = [model for model in CATALOGUE if store.place(model).is_file()] or [DEFAULT]
    smallest = min(here, key=lambda model: model.size)
    if not known:
        return Choice(smallest, f"{smallest.name} until a step has been measured on this machine")
    told = []
    for model in sorted(CATALOGUE, key=lambda model: -model.size):
        its, how = speed(model, known)
        line_ms, place_s = model.steps * its.step, its.reads(_budget_in_time(its))
        takes = f"{line_ms:.0f} ms a line and {place_s:.1f} s to read a new place ({how})"
        fits = line_ms <= MAX_LINE_MS and place_s <= MAX_PLACE_S
        if model in here and (fits or model == smallest):
            told.append(f"{model.name} takes {takes}")
            return Choice(model, f"{'; '.join(told)}; at most {MAX_LINE_MS:.0f} ms and {MAX_PLACE_S:.0f} s are wanted")
        pull = f": `dlsp model pull {model.name}` brings it" if model not in here and fits else ""
        told.append(f"{model.name} would take {takes}{pull}")
    raise AssertionError("one model is always here")


def named(name: str) -> Model:
    """The model of that name, or the one for this machine for `auto`; UserError for any other name."""
    return choose().model if name == AUTO else find(name)


def default_context(model: Model) -> int:
    """Tokens of context for `model` on this machine; the least until the engine has measured any model."""
    known = speeds()
    return _budget_in_time(speed(model, known)[0]) if known else CONTEXT_TOKENS[-1]


def speeds() -> dict[str, Speed]:
    """Model file -> its speed in the number type that is fastest here; {} where nothing is known."""
    try:
        entries: dict[str, Any] = dict(json.loads((cache_dir() / "costs.json").read_text()))
    except (OSError, ValueError, TypeError):
        return {}
    found: dict[str, Speed] = {}
    for name, entry in entries.items():
        file = f"{name.partition(' ')[0]}.gguf"  # then the type, then the instructions
        if any(model.file == file for model in CATALOGUE) and (speed := _speed(entry)):
            found[file] = min(speed, found.get(file, speed), key=lambda each: each.step)
    return found


def speed(model: Model, known: dict[str, Speed]) -> tuple[Speed, str]:
    """The model's speed, and "measured" or the model that it follows from. `known` are `speeds()`, not empty."""
    if (measured := known.get(model.file)) is not None:
        return measured, "measured"
    file, other = next(iter(known.items()))
    measured_of = next(each for each in CATALOGUE if each.file == file)
    return other.scaled(model.size / measured_of.size), f"from {measured_of.name}"


def _budget_in_time(here: Speed) -> int:
    """The largest budget that is read in MAX_READ_S, else the least."""
    return next((budget for budget in CONTEXT_TOKENS if here.reads(budget) <= MAX_READ_S), CONTEXT_TOKENS[-1])


def _speed(entry: Any) -> Speed | None:
    """The speed in one entry of costs.json; None if another version wrote it."""
    try:
        table = entry["costs"]
        step, chunk = (
            float(table["milliseconds"][table["rows"].index(rows)]) for rows in (GAP_STEP_ROWS, PROMPT_STEP_ROWS)
        )
        return Speed(step + (table["canvas"] + (GAP_STEP_ROWS - 1) * table["canvas_row"]) / 2, chunk)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
