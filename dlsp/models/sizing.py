"""Choose the model size and context budget for this machine, from the step costs that the engine measured here."""

import json
from dataclasses import dataclass
from typing import Any

from dlsp.models import store
from dlsp.models.added import every, find
from dlsp.models.catalogue import DEFAULT, Model
from dlsp.paths import cache_dir

AUTO = "auto"

# Rows of a decoding step of a gap (half of these steps have a canvas), and rows of a prefill step.
GAP_STEP_ROWS, PROMPT_STEP_ROWS = 4, 128

# The context budgets that `auto` chooses from: the largest that is prefilled within MAX_READ_S, else the smallest.
# Later suggestions come too late (docs/notes/typing.md).
CONTEXT_TOKENS = (4096, 2048, 1024, 512)
MAX_READ_S = 0.8

# Limits for `auto`: the time of a single-line gap with its prompt cached, and of prefilling a new prompt.
AUTO_MAX_LINE_MS, AUTO_MAX_READ_S = 300.0, 1.0


@dataclass(frozen=True)
class Speed:
    """Milliseconds of a step with GAP_STEP_ROWS rows and of one with PROMPT_STEP_ROWS.

    `is_busy`: other programs used the processor during the measurement, so that the true times may be shorter.
    """

    step: float
    chunk: float
    is_busy: bool = False

    def scaled(self, by: float) -> "Speed":
        """The speed of a model whose file is `by` times as large: a step takes as long as reading the weights."""
        return Speed(self.step * by, self.chunk * by, self.is_busy)

    def reads(self, tokens: int) -> float:
        """Seconds to prefill a prompt of so many tokens, none of them cached."""
        return tokens / PROMPT_STEP_ROWS * self.chunk / 1e3


@dataclass(frozen=True)
class Estimate:
    """The time a model takes on this machine."""

    line_ms: float  # a single-line gap with its prompt cached
    read_s: float  # prefilling a new prompt
    how: str  # how this is known, for the user

    @property
    def fits(self) -> bool:
        return self.line_ms <= AUTO_MAX_LINE_MS and self.read_s <= AUTO_MAX_READ_S

    @property
    def excess(self) -> str:
        """Which limits are exceeded, as text for the user."""
        parts: list[str] = []
        if self.line_ms > AUTO_MAX_LINE_MS:
            parts.append(f"{self.line_ms:.0f} ms a line, limit {AUTO_MAX_LINE_MS:.0f} ms")
        if self.read_s > AUTO_MAX_READ_S:
            parts.append(f"{self.read_s:.1f} s to read a file, limit {AUTO_MAX_READ_S:.0f} s")
        return "; ".join(parts)


@dataclass(frozen=True)
class Choice:
    """The model that `auto` selects, the reason (for the user), and the estimates of all models, if known."""

    model: Model
    why: str
    estimates: dict[str, Estimate]


def choose() -> Choice:
    """The largest model here that is fast enough, whether it was downloaded or added; until the engine has measured
    this machine, and if none is fast enough, the smallest, and one that was added only if there is no other. Models
    that cannot fill gaps, and diffusion checkpoints, are taken only by name.
    """
    models = every()
    fitting = [model for model in models if model.fills and model.attention == "causal"]
    here = [model for model in fitting if store.place(model).exists()] or [DEFAULT]
    smallest = min(here, key=lambda model: (model.path is not None, model.parameters))
    known = speeds()
    if not known:
        return Choice(smallest, f"using {smallest.short} until the engine has measured this machine", {})
    estimates = {model.short: _estimate(model, known) for model in models}
    larger: list[str] = []
    for model in sorted(fitting, key=lambda model: -model.parameters):
        its = estimates[model.short]
        if model in here and its.fits:
            return Choice(model, "; ".join([f"using {model.short}", *larger]), estimates)
        if model.parameters > smallest.parameters:
            if model.path and model not in here:
                larger.append(f"{model.short} is not at {model.path} any more")
            elif its.fits:
                larger.append(f"{model.short} would be fast enough here: `dlsp model pull {model.short}` brings it")
            else:
                larger.append(f"{model.short} would be too slow here ({its.excess}; {its.how})")
    its = estimates[smallest.short]
    slow = f"using {smallest.short}, though it is slow here ({its.excess}; {its.how})"
    return Choice(smallest, "; ".join([slow, *larger]), estimates)


def _estimate(model: Model, known: dict[str, Speed]) -> Estimate:
    its, how = speed(model, known)
    return Estimate(model.steps * its.step, its.reads(_budget_in_time(its)), how)


def named(name: str) -> Model:
    """The model with this name, or for `auto` the one for this machine; raises UserError for any other name."""
    return choose().model if name == AUTO else find(name)


def default_context(model: Model) -> int:
    """The context budget of `model` on this machine in tokens; the smallest until the engine has measured any model."""
    known = speeds()
    return _budget_in_time(speed(model, known)[0]) if known else CONTEXT_TOKENS[-1]


def speeds() -> dict[str, Speed]:
    """The measured speed by `Model.stem`, for the number type that is fastest here; empty if nothing was measured."""
    try:
        entries: dict[str, Any] = dict(json.loads((cache_dir() / "costs.json").read_text()))
    except (OSError, ValueError, TypeError):
        return {}
    stems = {model.stem for model in every()}
    found: dict[str, Speed] = {}
    for name, entry in entries.items():
        stem = name.partition(" ")[0]  # the key has the model, the type, and the CPU instructions
        if stem in stems and (speed := _speed(entry)):
            found[stem] = min(speed, found.get(stem, speed), key=lambda each: (each.is_busy, each.step))
    return found


def speed(model: Model, known: dict[str, Speed]) -> tuple[Speed, str]:
    """The model's speed and how it is known. `known` is a non-empty result of `speeds()`.

    A measurement on a busy machine is ignored if another model was measured on an idle one.
    """
    measured = known.get(model.stem)
    if measured and not measured.is_busy:
        return measured, "measured"
    stem, other = min(known.items(), key=lambda item: item[1].is_busy)
    if measured and other.is_busy:
        return measured, "measured while this machine was busy"
    source = next(each for each in every() if each.stem == stem)
    return other.scaled(model.size_in_4_bits / source.size_in_4_bits), f"estimated from {source.short}"


def _budget_in_time(here: Speed) -> int:
    """The largest budget that is prefilled within MAX_READ_S, else the smallest."""
    return next((budget for budget in CONTEXT_TOKENS if here.reads(budget) <= MAX_READ_S), CONTEXT_TOKENS[-1])


def _speed(entry: Any) -> Speed | None:
    """The speed from one entry of costs.json; None if the entry has another version's format."""
    try:
        table = entry["costs"]
        step, chunk = (
            float(table["milliseconds"][table["rows"].index(rows)]) for rows in (GAP_STEP_ROWS, PROMPT_STEP_ROWS)
        )
        canvas = (table["canvas"] + (GAP_STEP_ROWS - 1) * table["canvas_row"]) / 2
        return Speed(step + canvas, chunk, is_busy=bool(entry.get("busy")))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
